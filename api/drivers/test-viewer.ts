import type { Console } from './console.ts'

/** For tests: a viewer of a screen, which requests full updates in raw 32-bit pixels (RFC 6143). */
export class TestViewer {
  readonly #screen: Console
  #held = Buffer.alloc(0)
  width = 0
  height = 0

  private constructor(screen: Console) {
    this.#screen = screen
  }

  static async open(screen: Console): Promise<TestViewer> {
    const viewer = new TestViewer(screen)
    await viewer.#take(12)
    viewer.#send(Buffer.from('RFB 003.008\n'))
    await viewer.#take((await viewer.#take(1)).readUInt8())
    viewer.#send(Buffer.from([1]))
    await viewer.#take(4)
    viewer.#send(Buffer.from([1]))
    const head = await viewer.#take(24)
    await viewer.#take(head.readUInt32BE(20))
    viewer.width = head.readUInt16BE(0)
    viewer.height = head.readUInt16BE(2)
    // The only encoding is 0, raw.
    viewer.#send(Buffer.from([2, 0, 0, 1, 0, 0, 0, 0]))
    return viewer
  }

  /** The number of pixels that are not dark. */
  async lit(): Promise<number> {
    const request = Buffer.alloc(10)
    request.writeUInt8(3, 0)
    request.writeUInt16BE(this.width, 6)
    request.writeUInt16BE(this.height, 8)
    this.#send(request)
    const pixels = Buffer.alloc(this.width * this.height * 4)
    const update = await this.#take(4)
    for (let left = update.readUInt16BE(2); left > 0; left--) {
      const head = await this.#take(12)
      const [x, y, width, height] = [0, 2, 4, 6].map((at) => head.readUInt16BE(at)) as [
        number,
        number,
        number,
        number,
      ] // four of them
      const part = await this.#take(width * height * 4)
      for (let row = 0; row < height; row++)
        part.copy(pixels, ((y + row) * this.width + x) * 4, row * width * 4, (row + 1) * width * 4)
    }
    let count = 0
    for (let at = 0; at < pixels.length; at += 4) if (Math.max(...pixels.subarray(at, at + 3)) > 100) count++
    return count
  }

  /** Presses and releases the keys of a text. */
  type(text: string): void {
    for (const key of text)
      for (const isDown of [1, 0]) {
        const message = Buffer.alloc(8)
        message.writeUInt8(4, 0)
        message.writeUInt8(isDown, 1)
        message.writeUInt32BE(key === '\n' ? 0xff0d : key.charCodeAt(0), 4)
        this.#send(message)
      }
  }

  /** Resolves when the screen has ended. */
  async ended(): Promise<void> {
    while (await this.#screen.read()) {}
  }

  #send(bytes: Buffer): void {
    this.#screen.write(bytes)
  }

  async #take(count: number): Promise<Buffer> {
    while (this.#held.length < count) {
      const piece = await this.#screen.read()
      if (!piece) throw new Error('the screen has ended')
      this.#held = Buffer.concat([this.#held, piece.bytes])
    }
    const taken = this.#held.subarray(0, count)
    this.#held = this.#held.subarray(count)
    return taken
  }
}
