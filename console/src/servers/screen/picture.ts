import RFB from '@novnc/novnc'
import { berth } from '../../client.ts'
import type { Opened } from '../terminal/use-opened.ts'
import { keyOf } from './keys.ts'

const SHIFT = 0xffe1
/** The pause after each key: a guest's keyboard holds only a few. */
const KEY_MS = 30

export interface Picture extends Opened {
  pressCtrlAltDel(): void
  /** Types a text as on a US keyboard. Characters that it lacks are left out. */
  type(text: string): Promise<void>
}

/** The screen of a server in an element. Rejects if it can't be opened. */
export async function openPicture(place: HTMLElement, serverId: string): Promise<Picture> {
  const { url, protocols } = await berth.servers.screen(serverId)
  const socket = new WebSocket(url, protocols)
  const ended = new Promise<string>((resolve) => {
    socket.addEventListener('close', ({ reason }) => resolve(reason || 'disconnected'))
  })
  const rfb = new RFB(place, socket)
  rfb.scaleViewport = true
  rfb.background = 'transparent'
  let isLeft = false
  const connected = new Promise<true>((resolve) => {
    rfb.addEventListener('connect', () => resolve(true))
  })
  const first = await Promise.race([connected, ended])
  if (first !== true) return { ...nothing, ended: Promise.resolve(first) }
  return {
    ended: ended.then((ending) => (isLeft ? null : ending)),
    focus: () => rfb.focus(),
    close: () => {
      isLeft = true
      rfb.disconnect()
    },
    pressCtrlAltDel: () => rfb.sendCtrlAltDel(),
    type: async (text) => {
      for (const character of text.replaceAll('\r\n', '\n')) {
        const key = keyOf(character)
        if (socket.readyState !== socket.OPEN) return
        if (!key) continue
        if (key.isShifted) rfb.sendKey(SHIFT, 'ShiftLeft', true)
        rfb.sendKey(key.keysym, key.code)
        if (key.isShifted) rfb.sendKey(SHIFT, 'ShiftLeft', false)
        await new Promise((resolve) => setTimeout(resolve, KEY_MS))
      }
    },
  }
}

/** A screen that ended before it was shown. */
const nothing = {
  focus: () => {},
  close: () => {},
  pressCtrlAltDel: () => {},
  type: async () => {},
}
