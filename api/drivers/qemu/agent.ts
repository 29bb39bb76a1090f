import { randomInt } from 'node:crypto'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { DriverError } from '../driver.ts'
import { connected } from './console.ts'

/** The longest reply that is read: its length is up to the guest, which is not trusted. */
const MOST_BYTES = 64 * 1024
/** A guest's error ends up in logs, so its length is limited. */
const COMPLAINT_LIMIT = 200
/** A guest under load takes some seconds to freeze its file systems. */
const PATIENCE_MS = 5000
/** Announces the next reply in a stream that may hold older ones. */
const DELIMITER = 0xff

/**
 * Runs one command of the guest's agent, over a connection of its own: QEMU drops the part of an unread command when
 * the connection ends, so no later agent finds it. Calls for a machine must not overlap. A reply is only the guest's
 * claim.
 * @param sockets the folder of the machine's sockets
 * @throws DriverError unsupported (no channel until its next start), unavailable (no reply, or an error in the guest)
 */
export async function askAgent(
  sockets: string,
  command: string,
  args: Record<string, unknown> = {},
  patienceMs = PATIENCE_MS,
): Promise<unknown> {
  const socket = await connected(join(sockets, 'ga.sock'))
  if (!socket)
    throw new DriverError('unsupported', 'The machine has no channel to its agent until its next start')
  const deadline = setTimeout(() => socket.destroy(silent(patienceMs)), patienceMs)
  try {
    return await converse(socket, command, args)
  } finally {
    clearTimeout(deadline)
    socket.destroy()
  }
}

function silent(patienceMs: number): DriverError {
  return new DriverError('unavailable', `The guest's agent did not answer within ${patienceMs} ms`)
}

async function converse(socket: Socket, command: string, args: Record<string, unknown>): Promise<unknown> {
  const lines = linesOf(socket)
  const id = randomInt(1, 2 ** 31)
  // The first byte makes the agent forget the part of a command that an earlier connection left.
  socket.write(Buffer.concat([Buffer.from([DELIMITER]), line('guest-sync-delimited', { id })]))
  for (;;) {
    const reply = await nextReply(lines)
    if (reply?.return === id) break
  }
  socket.write(line(command, args))
  const reply = await nextReply(lines)
  if (!reply || !('return' in reply)) {
    const { desc = 'an unreadable reply' } = Object(reply?.error)
    const text = String(desc).slice(0, COMPLAINT_LIMIT)
    throw new DriverError('unavailable', `The guest's agent refused ${command}: ${text}`)
  }
  return reply.return
}

function line(execute: string, args: Record<string, unknown>): Buffer {
  return Buffer.from(`${JSON.stringify({ execute, arguments: args })}\n`)
}

/** @returns null if the line is not a JSON object */
async function nextReply(lines: AsyncGenerator<string>): Promise<Record<string, unknown> | null> {
  const { value, done } = await lines.next()
  if (done) throw new DriverError('unavailable', "The connection to the guest's agent ended")
  try {
    const reply: unknown = JSON.parse(value)
    // An object that is not null can be read by any key.
    return typeof reply === 'object' && reply !== null ? (reply as Record<string, unknown>) : null
  } catch {
    return null
  }
}

/** Splits what the guest sends into lines, from the last delimiter on. It ends after too many bytes. */
async function* linesOf(socket: Socket): AsyncGenerator<string> {
  let held = Buffer.alloc(0)
  let bytes = 0
  // Node's sockets yield buffers unless they have an encoding.
  for await (const piece of socket as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > MOST_BYTES) throw new DriverError('unavailable', "The guest's agent sends too much")
    held = Buffer.concat([held, piece])
    for (let end = held.indexOf('\n'); end !== -1; end = held.indexOf('\n')) {
      const whole = held.subarray(0, end)
      held = held.subarray(end + 1)
      yield whole.subarray(whole.lastIndexOf(DELIMITER) + 1).toString()
    }
  }
}
