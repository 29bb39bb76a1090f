import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { Refusal } from './refusal.ts'

/** Where a Berth is, and the token that it is asked with. */
export interface Context {
  url: string
  token: string
}

export interface Contexts {
  current: string | null
  contexts: Record<string, Context>
}

export type Env = Record<string, string | undefined>

export function contextsFile(env: Env): string {
  return path.join(env.XDG_CONFIG_HOME || path.join(homedir(), '.config'), 'berth', 'contexts.json')
}

/** @throws Refusal where the file is not one of ours */
export function readContexts(env: Env): Contexts {
  const file = contextsFile(env)
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      return { current: null, contexts: {} }
    throw new Refusal(`${file} can't be read: mend it, or delete it and log in again.`)
  }
}

/** Tokens are in it: nobody else may read it, not even while it is written. */
export function writeContexts(env: Env, contexts: Contexts): void {
  const file = contextsFile(env)
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  const next = `${file}.${process.pid}`
  writeFileSync(next, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 })
  chmodSync(next, 0o600)
  renameSync(next, file)
}

/** @throws Refusal where it is none */
export function checkAddress(url: string): string {
  if (/^https?:\/\/[^/]/.test(url)) return url
  throw new Refusal(`"${url}" is no address: it begins with http:// or https://.`)
}

/** The environment wins over the file, and a named context over the current one. @throws Refusal */
export function chooseContext(env: Env, named: string | undefined): Context {
  if (!named && env.BERTH_URL && env.BERTH_TOKEN)
    return { url: checkAddress(env.BERTH_URL), token: env.BERTH_TOKEN }
  const { current, contexts } = readContexts(env)
  const name = named ?? current
  if (name === null)
    throw new Refusal(
      'You are not logged in. Log in with: berth login <url>, or set BERTH_URL and BERTH_TOKEN.',
    )
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined
  if (!context) throw new Refusal(`There is no context ${name}. berth context list shows those that are.`)
  return context
}
