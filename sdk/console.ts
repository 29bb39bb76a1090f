import { ConnectionError } from './errors.ts'
import type { Call, CallOptions, Settings } from './request.ts'

/** The parts of the standard WebSocket that are used. */
interface Socket {
  binaryType: string
  send(data: string | Uint8Array<ArrayBuffer>): void
  close(code?: number): void
  addEventListener(type: string, listener: (event: object) => void): void
}

/** The standard WebSocket, or one like it, such as that of the `ws` package. */
export type SocketClass = new (url: string, protocols: string[]) => Socket

export interface ConsoleOptions extends CallOptions {
  /** Replaces the global `WebSocket`, which Node has from version 22 on. */
  WebSocket?: SocketClass | undefined
}

/** An open serial console. Iterate over it for the guest's output, which starts with the last 64 KiB. */
export interface ServerConsole extends AsyncIterable<Uint8Array> {
  /** Sends input; text is sent as UTF-8. It has no effect once the console has closed. */
  write(data: string | Uint8Array): void
  /** Ends the iteration. */
  close(): void
  /**
   * The reason why it closed, as the API reports it: `server_off`, `access_ended`, `idle`, `service_stopping`, or
   * `disconnected`; null while it is open, and if it was closed by `close`.
   */
  readonly ending: string | null
}

/** The address of a WebSocket that carries the screen of a server as RFB, for noVNC. It opens once, within a minute. */
export interface ScreenAddress {
  /** Such as `wss://cloud.example.com/v1/console`. */
  url: string
  /** The subprotocols that open it: `new RFB(element, url, { wsProtocols })`. */
  protocols: string[]
}

const PROTOCOL = 'berth.console.v1'

/** @throws TypeError if there is no WebSocket; the errors of any call; ConnectionError */
export async function openConsole(
  settings: Settings,
  call: Call,
  server_id: string,
  { WebSocket = globalThis.WebSocket, ...options }: ConsoleOptions = {},
): Promise<ServerConsole> {
  if (WebSocket === undefined)
    throw new TypeError('This runtime has no WebSocket: use Node 22 or newer, or set the option WebSocket.')
  const { url, ticket } = await call('POST /servers/{server_id}/console', { path: { server_id } }, options)
  const address = socketAt(settings, url)
  const socket = new WebSocket(address, [PROTOCOL, ticket])
  socket.binaryType = 'arraybuffer'
  const console = new OpenConsole(socket, options.signal)
  await console.opened(address)
  return console
}

/** @throws the errors of any call */
export async function screenAddress(
  settings: Settings,
  call: Call,
  server_id: string,
  options?: CallOptions,
): Promise<ScreenAddress> {
  const { url, ticket } = await call('POST /servers/{server_id}/screen', { path: { server_id } }, options)
  return { url: socketAt(settings, url), protocols: [PROTOCOL, ticket] }
}

/** The whole address of a WebSocket. @param path relative to the API, or to the page in a browser */
function socketAt({ baseUrl }: Settings, path: string): string {
  const page: unknown = Reflect.get(globalThis, 'location')
  const address = new URL(path, new URL(baseUrl, page === undefined ? undefined : String(page)))
  address.protocol = address.protocol.replace('http', 'ws')
  return address.href
}

class OpenConsole implements ServerConsole {
  readonly #socket: Socket
  readonly #open: Promise<void>
  readonly #printed: Uint8Array[] = []
  #news = () => {}
  #isOver = false
  #isClosed = false
  ending: string | null = null

  constructor(socket: Socket, signal: AbortSignal | undefined) {
    this.#socket = socket
    this.#open = new Promise((resolve, reject) => {
      socket.addEventListener('open', () => resolve())
      // Browsers may hide the reason; then it is in neither of them.
      socket.addEventListener('error', (event) => reject(textOf(event, 'message')))
      socket.addEventListener('close', (event) => reject(textOf(event, 'reason')))
    })
    socket.addEventListener('message', (event) => {
      if ('data' in event && event.data instanceof ArrayBuffer) this.#printed.push(new Uint8Array(event.data))
      this.#news()
    })
    socket.addEventListener('close', (event) => {
      this.#isOver = true
      if (!this.#isClosed) this.ending = textOf(event, 'reason') || 'disconnected'
      this.#news()
    })
    signal?.addEventListener('abort', () => this.close(), { once: true })
  }

  /** @throws ConnectionError */
  async opened(url: string): Promise<void> {
    await this.#open.catch((reason: unknown) => {
      throw new ConnectionError(url, reason)
    })
  }

  write(data: string | Uint8Array): void {
    // A view of shared memory can't be sent; its copy can.
    if (!this.#isOver) this.#socket.send(typeof data === 'string' ? data : new Uint8Array(data))
  }

  close(): void {
    this.#isClosed = this.#isOver = true
    this.#socket.close(1000)
    this.#news()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        const bytes = this.#isClosed ? undefined : this.#printed.shift()
        if (bytes) yield bytes
        else if (this.#isOver) return
        else
          await new Promise<void>((resolve) => {
            this.#news = resolve
          })
      }
    } finally {
      this.close()
    }
  }
}

function textOf(event: object, name: string): string {
  const value: unknown = Reflect.get(event, name)
  return typeof value === 'string' ? value : ''
}
