import { type Command, Help } from 'commander'

// Customers who are used to hcloud, doctl and other command lines may type these words. Help does not show them.

/** Commands that have the same meaning, by our name: they simply work. */
const aliases = new Map([
  ['list', ['ls']],
  ['show', ['describe', 'get']],
  ['delete', ['rm', 'remove', 'destroy', 'revoke']],
  ['start', ['poweron', 'power-on']],
  ['stop', ['shutdown', 'poweroff', 'power-off']],
  ['reboot', ['restart']],
  ['resize', ['change-type']],
  ['add', ['create', 'import']],
  ['template', ['image', 'images', 'templates']],
  ['preset', ['server-type', 'size', 'presets']],
  ['zone', ['location', 'region', 'zones']],
  ['operation', ['action', 'operations']],
  ['server', ['servers', 'droplet']],
  ['project', ['projects']],
  ['ssh-key', ['ssh-keys']],
  ['token', ['tokens']],
  ['member', ['members']],
  ['invitation', ['invitations']],
  ['webhook', ['webhooks']],
  ['event', ['events']],
  ['transaction', ['transactions']],
])

const foreign = new Set([...aliases.values()].flat())

/** Suggestions for words that belong in another place here, or need more. */
const suggestions = new Map([
  ["command 'ssh'", 'berth server ssh'],
  ["command 'create'", 'berth server create'],
  ["command 'list'", 'berth server list'],
  ["command 'ls'", 'berth server list'],
  ["command 'compute'", 'berth server'],
  ["command 'account'", 'berth whoami'],
  ["command 'auth'", 'berth login'],
  ["command 'enable-protection'", 'berth server update --delete-protection'],
  ["command 'disable-protection'", 'berth server update --no-delete-protection'],
  ["command 'add-label'", 'berth server update --label'],
  ["command 'rename'", 'update --name'],
  ["option '--name'", 'berth server create <name>'],
  ["arguments for 'add'", '--file <file>'],
  ["option '--image'", '--template'],
  ["option '--type'", '--preset'],
  ["option '--size'", '--preset'],
  ["option '--location'", '--zone'],
  ["option '--datacenter'", '--zone'],
  ["option '--region'", '--zone'],
  ["option '--ssh-keys'", '--ssh-key'],
  ["option '--user-data-from-file'", '--user-data-file'],
  ["option '--enable-protection'", '--delete-protection'],
])

export function addAliases(command: Command): void {
  for (const part of command.commands) {
    for (const alias of aliases.get(part.name()) ?? [])
      if (!command.commands.some((other) => other.name() === alias)) part.alias(alias)
    addAliases(part)
  }
}

/**
 * The second line for an error of commander.
 * @param text such as `error: unknown option '--image'` or `error: too many arguments for 'add'. …`
 * @param suggested commander's own, such as `(Did you mean one of list, ls?)`
 */
export function suggestionFor(text: string, suggested: string | undefined): string | undefined {
  const [, what = ''] =
    /^error: (?:unknown|too many) ((?:command|option|arguments for) '[^']*')/.exec(text) ?? []
  const suggestion = suggestions.get(what)
  if (suggestion) return `(Did you mean ${suggestion}?)`
  const [, several = ''] = /^\(Did you mean one of (.*)\?\)$/.exec(suggested ?? '') ?? []
  const ours = several.split(', ').filter((name) => !foreign.has(name))
  if (several === '' || ours.length === 0) return suggested
  return `(Did you mean ${ours.length > 1 ? 'one of ' : ''}${ours.join(', ')}?)`
}

const withoutAlias = (text: string, command: Command) =>
  text.replace(`${command.name()}|${command.alias()}`, command.name())

/** Help without aliases. */
export const help = {
  subcommandTerm: (command: Command) => withoutAlias(new Help().subcommandTerm(command), command),
  commandUsage: (command: Command) => withoutAlias(new Help().commandUsage(command), command),
}
