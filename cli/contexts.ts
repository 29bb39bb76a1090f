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

/** The address of a Berth API and the token to use with it. */
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

/** A file of ours that is neither configuration nor secret, such as servers' host keys. */
export function stateFile(env: Env, name: string): string {
  return path.join(path.dirname(configFile(env)), name)
}

/** @throws Refusal if the file is malformed, or readable by others */
export function readContexts(env: Env): Contexts {
  const file = configFile(env)
  try {
    if ((statSync(file).mode & 0o077) !== 0)
      throw new Refusal(
        `${file} contains tokens and is readable by other users.`,
        `Run: chmod 600 ${file} — and revoke its tokens if anyone may have seen them.`,
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
      'Fix it, or delete it and log in again: berth login',
      exitCodes.error,
    )
  }
}

/** @throws TypeError if the file was edited into something else */
function contextsIn(value: Partial<Contexts> | null): Contexts {
  const { current = null, contexts } = value ?? {}
  const isText = (text: unknown) => typeof text === 'string'
  const areContexts =
    typeof contexts === 'object' &&
    Object.values(contexts).every((context) => isText(context?.url) && isText(context?.token))
  if (!areContexts || !(current === null || isText(current)))
    throw new TypeError('The contexts are malformed.')
  return { current, contexts }
}

/** Keeps the tokens unreadable for others, even while writing. @throws Refusal if it can't be written */
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
      'Make its folder writable, or set XDG_CONFIG_HOME to another one.',
      exitCodes.error,
    )
  }
}

/** Follows a symbolic link, so that it is not replaced. */
function targetOf(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}

/** @throws Refusal if it is not valid */
export function checkAddress(url: string): string {
  const address = /^https?:\/\/[^/]/.test(url) ? URL.parse(url) : null
  if (!address)
    throw new Refusal(
      `"${url}" is not a valid address.`,
      'An address starts with http:// or https:// and includes a host.',
    )
  if (address.username || address.password || /[?#]/.test(url))
    throw new Refusal(
      `The address of ${address.host} must not contain a user name, query or fragment.`,
      'Remove everything before @ and after ? or #; the token identifies you.',
    )
  return url
}

/** @throws Refusal if it is not valid; the message omits the value, which may be another secret */
export function checkToken(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new Refusal(
    'This is not a valid token: it is empty, or contains spaces, line breaks or other invalid characters.',
    'A token is one word that starts with berth_. Nothing was sent.',
  )
}

/** @throws Refusal if there is no such context */
export function contextNamed({ contexts }: Contexts, name: string): Context {
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined
  if (context) return context
  throw new Refusal(`No such context: ${name}.`, 'List them with: berth context list', exitCodes.notFound)
}

/** The global options that select an API and a token. */
export interface ConnectionOptions {
  url?: string | undefined
  token?: string | undefined
  context?: string | undefined
}

/** Addresses are given with and without the path of the API. */
const withoutPath = (url: string) => url.replace(/(\/v1)?\/*$/, '')

/** Precedence: flags (--context included), environment, current context. @throws Refusal if none is complete */
export function chooseContext(env: Env, { url, token, context }: ConnectionOptions): Context {
  // The environment counts only as a pair: not if flags select another address.
  const isSame = (one: string, other: string) => withoutPath(one) === withoutPath(other)
  const isElsewhere = context !== undefined || (url !== undefined && !isSame(env.BERTH_URL ?? url, url))
  const given = {
    url: url ?? (isElsewhere ? undefined : env.BERTH_URL),
    token: token ?? (isElsewhere ? undefined : env.BERTH_TOKEN),
  }
  if (given.url && given.token) return { url: checkAddress(given.url), token: checkToken(given.token) }
  // A token belongs to one address and is never sent to another.
  if (given.url)
    throw new Refusal(
      'No token given for this address.',
      'Pass its token too, or log in to it: berth login <url>',
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
  return { url: checkAddress(chosen.url), token: checkToken(given.token ?? chosen.token) }
}
