import Type, { type Static } from 'typebox'
import { timestamp } from '../http/contract/fields.ts'

/** Path of the WebSockets of consoles, relative to /v1. */
export const CONSOLE_PATH = '/console'
/** The WebSocket subprotocol of consoles. */
export const CONSOLE_PROTOCOL = 'berth.console.v1'

export const ConsoleTicket = Type.Object(
  {
    url: Type.String({
      description: 'Path of the WebSocket, on the origin of this request: `wss://` instead of `https://`',
      examples: [`/v1${CONSOLE_PATH}`],
    }),
    ticket: Type.String({
      description: `Ticket that opens the WebSocket once; send it as the second subprotocol, after \`${CONSOLE_PROTOCOL}\``,
      examples: ['ticket_mYh3yX1W9nJ0bq2C5vT7uR4sK8pL6dF1aG3hZ0xQeEo'],
    }),
    expires_at: timestamp('When the ticket expires', '2026-11-20T12:01:00.000Z'),
  },
  { title: 'ConsoleTicket', description: "A ticket that opens a server's serial console or screen" },
)
export type ConsoleTicket = Static<typeof ConsoleTicket>
