import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import type { SshKey } from '@berth/sdk'
import { Command } from 'commander'
import { deleteCommand } from './delete.ts'
import { exitCodes, Refusal } from './errors.ts'
import { idOf, kind } from './find.ts'
import { type Labels, labelText, withLabelFilter, withLabels } from './labels.ts'
import type { Columns } from './output.ts'
import { action, listCommand, type Session } from './session.ts'
import { updateCommand } from './update.ts'

export const sshKeyKind = kind({
  noun: 'ssh-key',
  all: (berth) => berth.sshKeys.listAll(),
  id: ({ ssh_key_id }) => ssh_key_id,
  name: ({ name }) => name,
})

/** Default names of ssh-keygen, the strongest first. */
const FILES = ['ed25519', 'ed25519_sk', 'ecdsa', 'ecdsa_sk', 'rsa'].map((type) => `~/.ssh/id_${type}.pub`)

const columns: Columns<SshKey> = {
  id: ({ ssh_key_id }) => ssh_key_id,
  name: ({ name }) => name,
  type: ({ key_type }) => key_type,
  fingerprint: ({ fingerprint }) => fingerprint,
  labels: labelText,
  created: ({ created_at }) => created_at,
}

export function sshKeyCommand(): Command {
  return new Command('ssh-key')
    .description('manage SSH keys')
    .addCommand(
      withLabelFilter(
        listCommand({
          description: 'list SSH keys, newest first',
          columns,
          shown: ['id', 'name', 'type', 'fingerprint'],
          items: async ({ berth }, { label }: { label?: string }) => berth.sshKeys.listAll({ label }),
        }),
        'SSH keys',
      ),
    )
    .addCommand(showCommand())
    .addCommand(addCommand())
    .addCommand(
      updateCommand(
        sshKeyKind,
        'change the name and labels of an SSH key',
        (berth, id, change) => berth.sshKeys.update(id, change),
        showKey,
      ),
    )
    .addCommand(
      deleteCommand(sshKeyKind, 'delete an SSH key; servers created with it keep it', (berth, id) =>
        berth.sshKeys.delete(id),
      ),
    )
}

function showKey({ show }: Session, key: SshKey): Promise<void> {
  return show(key, {
    ID: ({ ssh_key_id }) => ssh_key_id,
    Name: ({ name }) => name,
    Fingerprint: ({ fingerprint }) => fingerprint,
    'Public key': ({ public_key }) => public_key,
    Labels: labelText,
    Created: ({ created_at }) => created_at,
  })
}

function showCommand(): Command {
  return new Command('show')
    .description('show an SSH key, including its public key')
    .argument('<ssh-key>', 'name or id')
    .action(
      action(async (session, given: string) => {
        const { berth } = session
        await showKey(session, await berth.sshKeys.get(await idOf(berth, sshKeyKind, given)))
      }),
    )
}

function addCommand(): Command {
  const command = new Command('add')
    .description('add a public key')
    .argument('[name]', "name (default: the key's comment)")
    .option(
      '--file <file>',
      `public key file; - reads stdin (default: stdin if it is piped, or the first of ${FILES.join(', ')})`,
    )
  type Wanted = { file?: string; label?: Labels }
  return withLabels(command).action(
    action(async (session, given: string | undefined, { file, label: labels }: Wanted) => {
      checkName(given)
      const { public_key, comment } = publicKeyIn(
        file === undefined ? await defaultKey(session) : await readKey(session, file),
      )
      const name = given ?? comment
      if (!name)
        throw new Refusal(
          'The key has no comment to use as its name.',
          'Give it a name: berth ssh-key add <name>',
        )
      await showKey(session, await session.berth.sshKeys.create({ name, public_key, labels }))
    }),
  )
}

/** A key that was pasted as the name would add another key under it. @throws Refusal */
function checkName(name = ''): void {
  // The encoded key starts with a short length, so all keys start alike.
  if (!/(^|\s)AAAA\w{4}/.test(name)) return
  throw new Refusal(
    'The name is a public key. It was not sent.',
    'Pass a public key file with --file <file>, or pipe the key in: berth ssh-key add <name> --file -',
  )
}

/** Returns the piped key, or else the key that ssh would use by default, and prints which. */
async function defaultKey(session: Session): Promise<string> {
  const piped = await pipedIn(session.terminal)
  if (!piped.trim()) return readKey(session, defaultFile(session))
  session.note('Adding the key from stdin.')
  return piped
}

/** The time that a pipe may stay silent: programs that start others may leave it open without sending anything. */
const SILENCE_MS = 1000

/** Returns the input from a pipe or a file; nothing from a terminal, /dev/null, or a pipe that stays silent. */
async function pipedIn({ stdin }: Session['terminal']): Promise<string> {
  if (stdin.isTTY) return ''
  const silent = setTimeout(() => stdin.destroy(), SILENCE_MS)
  stdin.once('readable', () => clearTimeout(silent))
  try {
    return await readAll(stdin)
  } catch (error) {
    if (stdin.destroyed) return ''
    throw error
  } finally {
    clearTimeout(silent)
  }
}

/** Returns the key that ssh would use by default, and prints which. @throws Refusal if there is none */
function defaultFile(session: Session): string {
  const file = FILES.find((file) => existsSync(inHome(session, file)))
  if (!file)
    throw new Refusal(
      'No public key found in ~/.ssh.',
      'Create one with: ssh-keygen -t ed25519 — or pass one with --file.',
      exitCodes.notFound,
    )
  session.note(`Adding ${file}.`)
  return file
}

/** @throws Refusal if it can't be read */
async function readKey(session: Session, file: string): Promise<string> {
  const { terminal, note } = session
  if (file === '-') {
    if (terminal.stdin.isTTY) note('Paste the public key, then press Ctrl-D.')
    return readAll(terminal.stdin)
  }
  try {
    return readFileSync(inHome(session, file), 'utf8')
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    throw new Refusal(`${file} can't be read${why}.`, 'Pass a public key file with --file.')
  }
}

/** Shells do not expand the ~ in --file=~/…. */
function inHome({ terminal: { env } }: Session, file: string): string {
  return file.startsWith('~/') ? path.join(env.HOME || homedir(), file.slice(2)) : file
}

/** The public key on one line, and its comment. @throws Refusal for anything else, before it is sent */
function publicKeyIn(text: string): { public_key: string; comment: string } {
  if (/PRIVATE KEY|PuTTY-User-Key-File/.test(text))
    throw new Refusal(
      'This is a private key. It was not sent, and should never leave this machine.',
      'Pass the public key instead, such as --file ~/.ssh/id_ed25519.pub',
    )
  if (text.includes('BEGIN SSH2 PUBLIC KEY'))
    throw new Refusal(
      "This is a public key in PuTTY's format. It was not sent.",
      'Convert it: ssh-keygen -i -f <file> | berth ssh-key add <name> --file - (or copy the line that PuTTYgen shows)',
    )
  // The encoded key starts with a short length, so all keys start alike.
  const [public_key, comment = ''] = /^[a-z][\w@.-]*[ \t]+AAAA\S*(?:[ \t]+(.+))?$/.exec(text.trim()) ?? []
  if (public_key !== undefined) return { public_key, comment }
  throw new Refusal(
    'This is not a valid public key. It was not sent.',
    'A public key is one line that starts with its type, as in ~/.ssh/id_ed25519.pub.',
  )
}
