import { text as readAll } from 'node:stream/consumers'
import { Berth } from '@berth/sdk'
import { Command } from 'commander'
import { ask } from './ask.ts'
import { checkAddress, checkToken, contextNamed, readContexts, writeContexts } from './contexts.ts'
import { exitCodes, Refusal } from './errors.ts'
import { printable, showList } from './output.ts'
import { type GlobalOptions, terminalOf } from './session.ts'
import { isInteractive, type Terminal } from './terminal.ts'

/** From a pipe or a hidden prompt; never an argument, which other users see and shells remember. */
async function readToken(terminal: Terminal): Promise<string> {
  if (!isInteractive(terminal)) return (await readAll(terminal.stdin)).trim()
  const typed = await ask(terminal, 'Pipe the token to stdin.', ({ password }, at) =>
    password({ message: 'Token:', mask: true }, at),
  )
  return typed.trim()
}

/** Whether the token leaves this machine unencrypted. */
function isExposed(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !/^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}

export function loginCommand(): Command {
  return new Command('login')
    .description(
      'log in to a Berth API and save its address and token; prompts for the token, or reads it from stdin',
    )
    .argument('<url>', 'address of the API, such as http://127.0.0.1:8080')
    .option('--as <context>', 'name to save it under', 'default')
    .action(async (url: string, { as: name }: { as: string }, command: Command) => {
      const terminal = terminalOf(command)
      checkAddress(url)
      if (!name) throw new Refusal('The context name is empty.', 'Omit --as, or give it a name.')
      const token = await readToken(terminal)
      if (!token) throw new Refusal('No token given.', 'Pipe it to stdin, or enter it at the prompt.')
      const { email } = await new Berth({ baseUrl: url, token: checkToken(token) }).account.get()
      if (typeof email !== 'string')
        throw new Refusal(`${url} is not a Berth API.`, 'Nothing was saved.', exitCodes.error)
      if (isExposed(url))
        terminal.stderr.write(
          'Warning: http:// is not encrypted; anyone on the network can read the token.\n',
        )
      const { contexts } = readContexts(terminal.env)
      writeContexts(terminal.env, { current: name, contexts: { ...contexts, [name]: { url, token } } })
      terminal.stdout.write(`Logged in as ${printable(email)}.\n`)
    })
}

export function logoutCommand(): Command {
  return new Command('logout')
    .description('remove a saved address and token; the token stays valid until it is revoked')
    .argument('[context]', 'context to remove (default: the current one)')
    .action((given: string | undefined, _options: object, command: Command) => {
      const { env, stdout } = terminalOf(command)
      const stored = readContexts(env)
      const name = given ?? stored.current
      if (name === null) throw new Refusal('You are not logged in.', 'There is nothing to log out of.')
      const { url } = contextNamed(stored, name)
      const { [name]: _, ...contexts } = stored.contexts
      const current = stored.current === name ? null : stored.current
      writeContexts(env, { current, contexts })
      stdout.write(`Logged out of ${printable(url)}. The token stays valid until it is revoked.\n`)
    })
}

export function contextCommand(): Command {
  const context = new Command('context').description('manage saved addresses and tokens')
  context
    .command('list')
    .description('list contexts; * marks the current one')
    .action(async (_options: object, command: Command) => {
      const { env, stdout } = terminalOf(command)
      const { current, contexts } = readContexts(env)
      const items = Object.entries(contexts).map(([name, { url }]) => ({
        name,
        url,
        is_current: name === current,
      }))
      const columns = {
        current: ({ is_current }: { is_current: boolean }) => (is_current ? '*' : '-'),
        name: ({ name }: { name: string }) => name,
        url: ({ url }: { url: string }) => url,
      }
      const { output } = command.optsWithGlobals<GlobalOptions>()
      await showList(stdout, output, items, columns, { columns: Object.keys(columns) })
    })
  context
    .command('use')
    .description('switch to another context')
    .argument('<context>', 'context to use')
    .action((name: string, _options: object, command: Command) => {
      const { env, stdout } = terminalOf(command)
      const stored = readContexts(env)
      const { url } = contextNamed(stored, name)
      writeContexts(env, { ...stored, current: name })
      stdout.write(`Using ${printable(name)}: ${printable(url)}.\n`)
    })
  return context
}
