import { text as readAll } from 'node:stream/consumers'
import { Berth } from '@berth/sdk'
import { Command } from 'commander'
import { ask } from './ask.ts'
import { checkAddress, checkToken, contextNamed, readContexts, writeContexts } from './contexts.ts'
import { exitCodes, Refusal } from './errors.ts'
import { printable, showList } from './output.ts'
import { type GlobalOptions, terminalOf } from './session.ts'
import { isInteractive, type Terminal } from './terminal.ts'

/** From a pipe, or typed without being shown; never an argument, which others see and shells remember. */
async function readToken(terminal: Terminal): Promise<string> {
  if (!isInteractive(terminal)) return (await readAll(terminal.stdin)).trim()
  const typed = await ask(terminal, 'Pipe the token into it.', ({ password }, at) =>
    password({ message: 'Token:', mask: true }, at),
  )
  return typed.trim()
}

/** Whether the token leaves this machine as it is. */
function isOverheard(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !/^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}

export function loginCommand(): Command {
  return new Command('login')
    .description('keep the address and token of a Berth; the token is asked for, or read from a pipe')
    .argument('<url>', 'address of the API, such as http://127.0.0.1:8080')
    .option('--as <context>', 'name to keep it under', 'default')
    .action(async (url: string, { as: name }: { as: string }, command: Command) => {
      const terminal = terminalOf(command)
      checkAddress(url)
      if (!name)
        throw new Refusal('The name to keep it under is empty.', 'Leave --as out, or give it a name.')
      const token = await readToken(terminal)
      if (!token) throw new Refusal('No token was given.', 'Pipe it in, or type it when it is asked for.')
      const { email } = await new Berth({ baseUrl: url, token: checkToken(token) }).account.get()
      if (typeof email !== 'string')
        throw new Refusal(`What answers at ${url} is no Berth.`, 'Nothing was kept.', exitCodes.error)
      if (isOverheard(url))
        terminal.stderr.write('Whoever is on the way reads the token: http:// is not encrypted.\n')
      const { contexts } = readContexts(terminal.env)
      writeContexts(terminal.env, { current: name, contexts: { ...contexts, [name]: { url, token } } })
      terminal.stdout.write(`You are logged in as ${printable(email)}.\n`)
    })
}

export function logoutCommand(): Command {
  return new Command('logout')
    .description('forget an address and its token; the token stays valid until it is revoked')
    .argument('[context]', 'which; the current one without it')
    .action((given: string | undefined, _options: object, command: Command) => {
      const { env } = terminalOf(command)
      const stored = readContexts(env)
      const name = given ?? stored.current
      if (name === null) throw new Refusal('You are not logged in.', 'There is nothing to forget.')
      contextNamed(stored, name)
      const { [name]: _, ...contexts } = stored.contexts
      const current = stored.current === name ? null : stored.current
      writeContexts(env, { current, contexts })
    })
}

export function contextCommand(): Command {
  const context = new Command('context').description('the places that you are logged in to')
  context
    .command('list')
    .description('all of them; the current one has a star')
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
    .description('make one the current one')
    .argument('<context>', 'the name that you logged in under')
    .action((name: string, _options: object, command: Command) => {
      const { env } = terminalOf(command)
      const stored = readContexts(env)
      contextNamed(stored, name)
      writeContexts(env, { ...stored, current: name })
    })
  return context
}
