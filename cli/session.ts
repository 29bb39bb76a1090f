import { Berth } from '@berth/sdk'
import type { Command } from 'commander'
import { chooseContext } from './contexts.ts'
import type { Format } from './output.ts'

/** What a command works with: the client, and how to show what it found. */
export interface Session {
  berth: Berth
  format: Format
}

/** The session that the options before and after a command ask for. */
export function sessionOf(command: Command): Session {
  const { context, output } = command.optsWithGlobals<{ context?: string; output: Format }>()
  const { url, token } = chooseContext(process.env, context)
  return { berth: new Berth({ baseUrl: url, token }), format: output }
}
