import type { Clock } from '../../clock.ts'
import { SerialLine } from '../serial-line.ts'

/** The serial console of a simulated guest: a shell that echoes. */
export class SimulatedShell {
  readonly line: SerialLine
  readonly #hostname: string
  readonly #clock: Clock
  #typed = ''

  constructor(hostname: string, clock: Clock) {
    this.#hostname = hostname
    this.#clock = clock
    this.line = new SerialLine({ type: (bytes) => this.#take(Buffer.from(bytes).toString('latin1')) })
    this.boot()
  }

  boot(): void {
    this.#typed = ''
    const at = new Date(this.#clock.now()).toISOString()
    this.#print(`\nSimulated Linux on ${this.#hostname} ttyS0, up since ${at}\n\n${this.#prompt}`)
  }

  get #prompt(): string {
    return `${this.#hostname}:~# `
  }

  #print(text: string): void {
    this.line.print(Buffer.from(text.replaceAll('\n', '\r\n'), 'latin1'))
  }

  #take(text: string): void {
    for (const key of text.match(/\r\n?|[^\r]/g) ?? []) {
      if (key === '\x7f') this.#erase()
      else if (key === '\x03') this.#enter('^C', '')
      else if (key.startsWith('\r') || key === '\n') this.#enter('', this.#answer())
      else if (key >= ' ' && this.#typed.length < 1024) {
        this.#typed += key
        this.#print(key)
      }
    }
  }

  #erase(): void {
    if (this.#typed !== '') this.#print('\b \b')
    this.#typed = this.#typed.slice(0, -1)
  }

  #enter(echo: string, answer: string): void {
    this.#typed = ''
    this.#print(`${echo}\n${answer}${this.#prompt}`)
  }

  #answer(): string {
    const [command = '', ...words] = this.#typed.trim().split(/ +/)
    if (command === '') return ''
    if (command === 'echo') return `${words.join(' ')}\n`
    if (command === 'hostname') return `${this.#hostname}\n`
    if (command === 'uname') return `Linux ${this.#hostname} simulated\n`
    return `sh: ${command}: not found\n`
  }
}
