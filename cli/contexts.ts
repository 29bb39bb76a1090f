import {
  chmodSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
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
    const kept: Partial<Contexts> | null = JSON.parse(readFileSync(file, 'utf8'))
    return contextsIn(kept)
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

/** @throws TypeError where they are none: somebody has written into the file */
function contextsIn(value: Partial<Contexts> | null): Contexts {
  const { current = null, contexts } = value ?? {}
  const isText = (text: unknown) => typeof text === 'string'
  const areContexts =
    typeof contexts === 'object' &&
    Object.values(contexts).every((context) => isText(context?.url) && isText(context?.token))
  if (!areContexts || !(current === null || isText(current))) throw new TypeError('These are no contexts.')
  return { current, contexts }
}

/** Tokens are in it: nobody else may read it, not even while it is written. @throws Refusal where it can't be */
export function writeContexts(env: Env, contexts: Contexts): void {
  const file = configFile(env)
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    const target = targetOf(file)
    const next = `${target}.${process.pid}`
    writeFileSync(next, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 })
    chmodSync(next, 0o600)
    renameSync(next, target)
  } catch (error) {
    throw new Refusal(
      `${file} can't be written (${error instanceof Error ? error.message : error}).`,
      'Make its folder writable, or name another with XDG_CONFIG_HOME.',
      exitCodes.error,
    )
  }
}

/** Who keeps the file elsewhere, with a link to it, keeps the link. */
function targetOf(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}

/** @throws Refusal where it is none */
export function checkAddress(url: string): string {
  const address = /^https?:\/\/[^/]/.test(url) ? URL.parse(url) : null
  if (!address)
    throw new Refusal(`"${url}" is no address.`, 'Addresses begin with http:// or https://, and have a host.')
  if (address.username || address.password || /[?#]/.test(url))
    throw new Refusal(
      `The address of ${address.host} has more in it than where that is.`,
      'Leave out what stands before @ and behind ? or #: who asks is known by the token.',
    )
  return url
}

/** @throws Refusal where it is none; what was given is not told, as it may be another secret */
export function checkToken(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new Refusal(
    'This is no token: it is empty, or has spaces, line breaks or letters that no token has.',
    'A token is one word that begins with berth_. Nothing was sent.',
  )
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
  if (asked.url && asked.token) return { url: checkAddress(asked.url), token: checkToken(asked.token) }
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
  return { url: checkAddress(chosen.url), token: checkToken(asked.token ?? chosen.token) }
}
