import { hostname } from 'node:os'
import { text as readAll } from 'node:stream/consumers'
import { type Account, Berth, ConnectionError, isBerthError, type TokenCreate } from '@berth/sdk'
import { Command } from 'commander'
import { ask } from './ask.ts'
import { checkAddress, checkToken, contextNamed, readContexts, writeContexts } from './contexts.ts'
import { exitCodes, Refusal } from './errors.ts'
import { repeated } from './flags.ts'
import { printable, showList } from './output.ts'
import { type GlobalOptions, terminalOf } from './session.ts'
import { isInteractive, type Terminal, untilInterrupt } from './terminal.ts'

/** From a pipe or a hidden prompt; never an argument, which other users see and shells remember. */
async function readToken(terminal: Terminal): Promise<string> {
  if (!isInteractive(terminal)) return (await readAll(terminal.stdin)).trim()
  const typed = await ask(terminal, 'Pipe the token to stdin.', ({ password }, at) =>
    password({ message: 'Token:', mask: true }, at),
  )
  return typed.trim()
}

/**
 * Gets a token that a person approves in a browser, on any machine.
 * @throws Refusal if they deny it, or on Ctrl-C
 */
async function approvedToken(
  terminal: Terminal,
  url: string,
  scopes: TokenCreate['scopes'] | undefined,
): Promise<string> {
  const { deviceLogins } = new Berth({ baseUrl: url })
  const client_name = `berth on ${hostname()}`.slice(0, 64)
  const started = await deviceLogins
    .start({ client_name, scopes: scopes ?? null })
    .catch((error: unknown) => {
      throw isBerthError(error, 'no_console') ? noPage(url) : error
    })
  const { user_code, verification_uri, verification_uri_complete, expires_in } = started
  const lines = [
    `Open ${verification_uri} in a browser, on any machine, and enter the code ${user_code}`,
    `Or open ${verification_uri_complete}`,
    `Waiting for your approval; the code expires in ${Math.round(expires_in / 60)} minutes.`,
  ]
  let token: string | null = null
  await untilInterrupt(terminal, async (signal) => {
    terminal.stderr.write(lines.map((line) => `${printable(line)}\n`).join(''))
    token = (await deviceLogins.wait(started, { signal })).token
  })
  if (token === null) throw new Refusal('Canceled.', 'Nothing was saved.', exitCodes.interrupted)
  return token
}

function noPage(url: string): Refusal {
  return new Refusal(
    `${url} runs without its console, where you would approve the login. (no_console)`,
    'Log in with a token, which the operator creates: berth login <url> --with-token',
    exitCodes.auth,
  )
}

/** True if the token is sent to another machine unencrypted. */
function isExposed(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !/^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}

/** @throws Refusal if the token is not known there: nothing is saved yet that commands on contexts could show */
async function accountAt(url: string, token: string): Promise<Account> {
  try {
    return await new Berth({ baseUrl: url, token }).account.get()
  } catch (error) {
    if (error instanceof ConnectionError)
      throw new Refusal(error.message, 'Check the address. Nothing was saved.', exitCodes.error)
    if (!isBerthError(error, 'invalid_token')) throw error
    throw new Refusal(
      `The token is truncated or mistyped, or is not a token of ${url}. (${error.code})`,
      'Copy the whole token, or create a new one. Nothing was saved.',
      exitCodes.auth,
    )
  }
}

interface LoginOptions {
  as?: string
  withToken?: boolean
  scope?: TokenCreate['scopes']
}

/** Returns the address to log in to, and the name of its context. @throws Refusal */
function placeOf(terminal: Terminal, given: string | undefined, { as }: LoginOptions) {
  if (given !== undefined) return { url: checkAddress(given), name: as ?? 'default' }
  const stored = readContexts(terminal.env)
  if (stored.current === null)
    throw new Refusal('No address given.', 'Give the address of your cloud: berth login <url>')
  return { url: checkAddress(contextNamed(stored, stored.current).url), name: as ?? stored.current }
}

export function loginCommand(): Command {
  return new Command('login')
    .description(
      'log in to a Berth API and save its address and a token, which you approve in a browser, on any machine; a token that is piped to stdin is used instead',
    )
    .argument(
      '[url]',
      'address of the API, such as http://127.0.0.1:8080 (default: the address of the current context)',
    )
    .option(
      '--as <context>',
      'name of the context to save it in (default: "default"; without <url>: the current one)',
    )
    .option('--with-token', 'prompt for a token instead')
    .option(
      '--scope <scope>',
      'scope of the token that you approve (repeatable; default: all scopes of your role)',
      repeated,
    )
    .action(async (given: string | undefined, options: LoginOptions, command: Command) => {
      const { withToken, scope: scopes } = options
      const terminal = terminalOf(command)
      const { url, name } = placeOf(terminal, given, options)
      if (!name) throw new Refusal('The context name is empty.', 'Omit --as, or give it a name.')
      const wantsApproval = isInteractive(terminal) && !withToken
      const token = await (wantsApproval ? approvedToken(terminal, url, scopes) : readToken(terminal))
      if (!token) throw new Refusal('No token given.', 'Pipe it to stdin, or enter it at the prompt.')
      const { email } = await accountAt(url, checkToken(token))
      if (typeof email !== 'string')
        throw new Refusal(`${url} is not a Berth API.`, 'Nothing was saved.', exitCodes.error)
      if (isExposed(url))
        terminal.stderr.write(
          'Warning: http:// is not encrypted; anyone on the network can read the token.\n',
        )
      const { current, contexts } = readContexts(terminal.env)
      writeContexts(terminal.env, { current: name, contexts: { ...contexts, [name]: { url, token } } })
      const news = name === (current ?? 'default') ? '' : ` (context ${printable(name)}, now current)`
      terminal.stdout.write(`Logged in as ${printable(email)}${news}.\n`)
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
