import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { meanwhile, type Service } from '../sdk/client.ts'

const main = path.resolve(import.meta.dirname, '../../cli/main.ts')

export interface Run {
  code: number | null
  out: string
  err: string
}

/** The command as a customer runs it, with a home of its own. */
export function berthOf(t: Service): { home: string; berth(args: string, input?: string): Promise<Run> } {
  const home = mkdtempSync(path.join(tmpdir(), 'berth-cli-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const { BERTH_URL: _, BERTH_TOKEN: __, ...rest } = process.env
  const env = { ...rest, XDG_CONFIG_HOME: home, NO_COLOR: '1' }
  const run = async (args: string, input: string): Promise<Run> => {
    const child = spawn(process.execPath, [main, ...args.split(' ').filter(Boolean)], { env })
    child.stdin.end(input)
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { code: await ended, out, err }
  }
  return { home, berth: (args, input = '') => meanwhile(t, run(args, input)) }
}
