import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished } from 'vitest'
import { run as runProgram } from '../../../cli/program.ts'
import { meanwhile, type Service, service } from '../../sdk/harness/client.ts'

export interface Run {
  code: number | null
  out: string
  err: string
}

export interface Cli {
  /** The folder of its configuration. */
  home: string
  env: Record<string, string | undefined>
  /** Runs a command line; words with spaces are in single quotes. */
  run(args: string, input?: string): Promise<Run>
}

/** The program as customers have it, with its own home folder and without a terminal, against the real service. */
export function berthOf(t: Service): Cli {
  const home = mkdtempSync(path.join(tmpdir(), 'berth-cli-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const env: Cli['env'] = { HOME: home, XDG_CONFIG_HOME: home }
  const inside = async (args: string, input: string): Promise<Run> => {
    const stdin = PassThrough.from([input])
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const terminal = { env, stdin, stdout, stderr, on: () => {}, off: () => {} }
    const printed = Promise.all([text(stdout), text(stderr)])
    const code = await runProgram(wordsOf(args), terminal).finally(() => {
      stdout.end()
      stderr.end()
    })
    const [out, err] = await printed
    return { code, out, err }
  }
  return { home, env, run: (args, input = '') => meanwhile(t, inside(args, input)) }
}

/** Starts a service, and the program logged in to it. */
export async function loggedIn(options: Parameters<typeof service>[0] = {}): Promise<Service & Cli> {
  const t = await service(options)
  const cli = berthOf(t)
  cli.env.BERTH_URL = t.baseUrl
  cli.env.BERTH_TOKEN = t.token
  return { ...t, ...cli }
}

/** Splits a line as a shell would; only single quotes are supported. */
const wordsOf = (line: string) => (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^'|'$/g, ''))

/**
 * Compares the output of a session at the command line, word for word, with golden/<name>.txt. Random values (ids,
 * times, ports) have placeholders there, and equal values have equal ones.
 */
export async function expectSession({ run }: Cli, name: string, lines: string[]): Promise<void> {
  const shown: string[] = []
  for (const line of lines) {
    const { code, out, err } = await run(line)
    shown.push(`$ berth ${line}\n${out}${err}${code === 0 ? '' : `[exit ${code}]\n`}`)
  }
  await expect(withoutChance(shown.join('\n'))).toMatchFileSnapshot(`golden/${name}.txt`)
}

function withoutChance(text: string): string {
  const seen = new Map<string, string>()
  const numbered = (id: string) => {
    const name = seen.get(id) ?? `00000000-0000-0000-0000-${String(seen.size + 1).padStart(12, '0')}`
    seen.set(id, name)
    return name
  }
  return text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, numbered)
    .replace(/(?<![-\d])\d{4}-\d{4}-\d{4}(?![-\d])/g, '4821-0937-5557')
    .replace(/BERTH_Volume_[0-9a-f]{32}/g, `BERTH_Volume_${'0'.repeat(32)}`)
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '2026-01-01T00:00:00.000Z')
    .replace(/\buntil \d{4}-\d\d(-\d\d)?/g, 'until 2026-01')
    .replace(/\bberth_\w{49}\b/g, `berth_${'a'.repeat(49)}`)
    .replace(/\bwhsec_[\w+/]{43}=/g, `whsec_${'a'.repeat(43)}=`)
    .replace(/^(Password: +)\S{20}$/gm, '$1aaaaaaaaaaaaaaaaaaaa')
    .replace(/("password": ")[^"]{20}/g, '$1aaaaaaaaaaaaaaaaaaaa')
    .replace(/("public_key": ")[^"]+/g, '$1aaaa')
    .replace(/\b[0-9a-f]{64}\b/g, 'a'.repeat(64))
    .replace(/SHA256:[\w+/]{43}/g, `SHA256:${'a'.repeat(43)}`)
    .replace(/([0-9a-f]{2}:){5}[0-9a-f]{2}/g, '52:54:00:00:00:00')
    .replace(/(gateway\W+)10(\.\d+){3}/g, (_, word) => `${word}10.64.0.5`)
    .replace(/\b10(\.\d+){3}(?=\/30|",)/g, '10.64.0.6')
    .replace(/\bfd62(:[0-9a-f]+)+::2/g, 'fd62:6572:7400:1::2')
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:8080')
}
