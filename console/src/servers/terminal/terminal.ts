import { FitAddon } from '@xterm/addon-fit'
import { Terminal } from '@xterm/xterm'
import { berth } from '../../client.ts'
import type { Opened } from './use-opened.ts'
import '@xterm/xterm/css/xterm.css'

/** Gives the emulator's style elements the page's nonce, which its policy requires. */
function allowStyles(): void {
  const nonce = document.querySelector<HTMLElement>('meta[property=csp-nonce]')?.nonce
  const create = document.createElement.bind(document)
  Object.assign(document, {
    createElement: (name: string, options?: ElementCreationOptions) => {
      const element = create(name, options)
      if (element instanceof HTMLStyleElement && nonce) element.nonce = nonce
      return element
    },
  })
}
allowStyles()

/** A terminal in an element, connected to the serial console of a server. Rejects if it can't be opened. */
export async function openTerminal(place: HTMLElement, serverId: string): Promise<Opened> {
  const serial = await berth.servers.console(serverId)
  const terminal = new Terminal({
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--mono'),
    fontSize: 13,
    cursorBlink: true,
    scrollback: 5_000,
    screenReaderMode: false,
    theme: {
      background: '#0b0d10',
      foreground: '#e7eaee',
      cursor: '#76a9ff',
      selectionBackground: '#2f4f7f',
    },
  })
  const fit = new FitAddon()
  terminal.loadAddon(fit)
  terminal.open(place)
  fit.fit()
  const observer = new ResizeObserver(() => fit.fit())
  observer.observe(place)
  terminal.onData((typed) => serial.write(typed))
  // Copying is Ctrl Shift C, as in terminals; the browser pastes by itself.
  terminal.attachCustomKeyEventHandler((event) => {
    const isCopy = event.ctrlKey && event.shiftKey && event.code === 'KeyC'
    if (!isCopy) return true
    if (event.type === 'keydown') void navigator.clipboard?.writeText(terminal.getSelection())
    event.preventDefault()
    return false
  })
  return {
    ended: print(terminal, serial).then(() => serial.ending),
    focus: () => terminal.focus(),
    close: () => {
      observer.disconnect()
      serial.close()
      terminal.dispose()
    },
  }
}

async function print(terminal: Terminal, serial: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const bytes of serial) terminal.write(bytes)
}
