import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text as readAll } from 'node:stream/consumers'
import { Berth } from '@berth/sdk'
import { Command } from 'commander'
import { checkAddress, readContexts, writeContexts } from './contexts.ts'
import { print, printList } from './output.ts'
import { Refusal } from './refusal.ts'
import { sessionOf } from './session.ts'

/** From a pipe, or typed without being shown; never an argument, which others see and shells remember. */
async function readToken(): Promise<string> {
  if (!process.stdin.isTTY) return (await readAll(process.stdin)).trim()
  process.stderr.write('Token: ')
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true })
  const token = await lines.question('')
  lines.close()
  process.stderr.write('\n')
  return token.trim()
}

export function loginCommand(): Command {
  return new Command('login')
    .description('keep the address and token of a Berth; the token is asked for, or read from a pipe')
    .argument('<url>', 'address of the API, such as http://127.0.0.1:8080')
    .option('--as <context>', 'name to keep it under', 'default')
    .action(async (url: string, { as: name }: { as: string }) => {
      checkAddress(url)
      const token = await readToken()
      if (!token) throw new Refusal('No token was given.')
      const { email } = await new Berth({ baseUrl: url, token }).account.get()
      const { contexts } = readContexts(process.env)
      writeContexts(process.env, { current: name, contexts: { ...contexts, [name]: { url, token } } })
      console.log(`You are logged in as ${email}.`)
    })
}

export function contextCommand(): Command {
  const context = new Command('context').description('the places that you are logged in to')
  context
    .command('list')
    .description('all of them; the current one has a star')
    .action((_options: object, command: Command) => {
      const { current, contexts } = readContexts(process.env)
      const items = Object.entries(contexts).map(([name, { url }]) => ({
        name,
        url,
        is_current: name === current,
      }))
      printList(command.optsWithGlobals().output, items, {
        '': ({ is_current }) => (is_current ? '*' : ''),
        NAME: ({ name }) => name,
        URL: ({ url }) => url,
      })
    })
  context
    .command('use')
    .description('make one the current one')
    .argument('<context>')
    .action((name: string) => {
      const { contexts } = readContexts(process.env)
      if (!Object.hasOwn(contexts, name))
        throw new Refusal(`There is no context ${name}. berth context list shows those that are.`)
      writeContexts(process.env, { current: name, contexts })
    })
  return context
}

export function whoamiCommand(): Command {
  return new Command('whoami')
    .description('the account and the token that are used')
    .action(async (_options: object, command: Command) => {
      const { berth, format } = sessionOf(command)
      print(format, await berth.account.get(), {
        Account: ({ email }) => email,
        Status: ({ status }) => status,
        Token: ({ token }) => token.name,
        Scopes: ({ token }) => token.scopes.join(', '),
      })
    })
}

export function balanceCommand(): Command {
  return new Command('balance')
    .description('what is left, and how long it lasts')
    .action(async (_options: object, command: Command) => {
      const { berth, format } = sessionOf(command)
      print(format, await berth.account.balance(), {
        Balance: ({ balance, currency }) => `${balance} ${currency}`,
        'Cost a month': ({ cost_month_rub }) => cost_month_rub,
        'Hours left': ({ hours_left }) => hours_left,
      })
    })
}
