/** The start of codes that switch modes of a terminal: with numbers, then h for on and l for off. */
const SWITCH = '\x1b[?'
/** The modes of the alternate screen. Each is left by its own number, which decides if the cursor is restored. */
const SCREENS = new Set(['47', '1047', '1049'])

/**
 * Restores the modes that programs expect of a terminal: a soft reset, which some terminals lack, and the modes that
 * guests switch: wrapping, the cursor and its keys, mouse and focus reports, bracketed paste, insertion, the keypad,
 * line drawing, colors.
 */
const USUAL =
  '\x1b[!p\x1b[?7;25h\x1b[?1;9;1000;1002;1003;1004;1005;1006;1015;2004l\x1b[4l\x1b>\x1b(B\x0f\x1b[0m'

/** Follows what a guest prints, for the codes that bring the terminal back. */
export class GuestModes {
  #rest = ''
  #screen: string | null = null

  read(bytes: Uint8Array): void {
    const text = this.#rest + Buffer.from(bytes).toString('latin1')
    for (const code of text.split(SWITCH).slice(1)) {
      const [, numbers = '', state] = /^([\d;]*)([hl])/.exec(code) ?? []
      for (const number of numbers.split(';').filter((each) => SCREENS.has(each)))
        this.#screen = state === 'h' ? number : null
    }
    // A code may arrive in two parts.
    const [, ...begun] = text.slice(-64).split('\x1b')
    const last = begun.at(-1) ?? '-'
    this.#rest = /^(\[(\?[\d;]*)?)?$/.test(last) ? `\x1b${last}` : ''
  }

  /** Leaves the alternate screen only if the guest entered it, or else the cursor would jump. */
  get undoing(): string {
    return `${this.#screen === null ? '' : `${SWITCH}${this.#screen}l`}${USUAL}`
  }
}
