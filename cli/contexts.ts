import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { exitCodes, Refusal } from './errors.ts'
import type { Terminal } from './terminal.ts'

/** Where a Berth is, and the token that it is asked with. */
export interface Context {
  url: string
  token: string
}

export interface Contexts {
  current: string | null
  contexts: Record<string, Context>
}

type Env = Terminal['env']

function configFile(env: Env): string {
  return path.join(env.XDG_CONFIG_HOME || path.join(homedir(), '.config'), 'berth', 'contexts.json')
}

/** A file of ours that is neither configuration nor secret, such as the host keys of servers. */
export function stateFile(env: Env, name: string): string {
  return path.join(path.dirname(configFile(env)), name)
}

/** @throws Refusal where the file is not one of ours, or others can read it */
export function readContexts(env: Env): Contexts {
  const file = configFile(env)
  try {
    if ((statSync(file).mode & 0o077) !== 0)
      throw new Refusal(
        `${file} has tokens in it, and others can read it.`,
        `Run: chmod 600 ${file} — and revoke its tokens if somebody may have seen them.`,
        exitCodes.auth,
      )
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error instanceof Refusal) throw error
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      return { current: null, contexts: {} }
    throw new Refusal(
      `${file} can't be read.`,
      'Mend it, or delete it and log in again: berth login',
      exitCodes.error,
    )
  }
}

/** Tokens are in it: nobody else may read it, not even while it is written. */
export function writeContexts(env: Env, contexts: Contexts): void {
  const file = configFile(env)
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  const next = `${file}.${process.pid}`
  writeFileSync(next, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 })
  chmodSync(next, 0o600)
  renameSync(next, file)
}

/** @throws Refusal where it is none */
export function checkAddress(url: string): string {
  if (/^https?:\/\/[^/]/.test(url)) return url
  throw new Refusal(`"${url}" is no address.`, 'Addresses begin with http:// or https://.')
}

/** @throws Refusal where nobody logged in under that name */
export function contextNamed({ contexts }: Contexts, name: string): Context {
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined
  if (context) return context
  throw new Refusal(
    `There is no context ${name}.`,
    'See those that are with: berth context list',
    exitCodes.notFound,
  )
}

export interface Asked {
  url?: string | undefined
  token?: string | undefined
  context?: string | undefined
}

/** Flags win over the environment, that over what was logged in to; a named context over the environment. @throws Refusal */
export function chooseContext(env: Env, { url, token, context }: Asked): Context {
  // Of the environment both or, where flags name another place, neither.
  const isElsewhere = context !== undefined || (url !== undefined && (env.BERTH_URL ?? url) !== url)
  const asked = {
    url: url ?? (isElsewhere ? undefined : env.BERTH_URL),
    token: token ?? (isElsewhere ? undefined : env.BERTH_TOKEN),
  }
  if (asked.url && asked.token) return { url: checkAddress(asked.url), token: asked.token }
  // A token is for one place: it is never sent to another.
  if (asked.url)
    throw new Refusal(
      'There is an address, but no token for it.',
      'Give its token too, or log in there: berth login',
    )
  const stored = readContexts(env)
  const name = context ?? stored.current
  if (name === null)
    throw new Refusal(
      'You are not logged in.',
      'Log in with: berth login <url>, or set BERTH_URL and BERTH_TOKEN.',
      exitCodes.auth,
    )
  const chosen = contextNamed(stored, name)
  return { url: chosen.url, token: asked.token ?? chosen.token }
}
