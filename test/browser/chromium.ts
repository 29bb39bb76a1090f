import { existsSync } from 'node:fs'
import path from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const CHROMIUM = (process.env.PATH ?? '')
  .split(path.delimiter)
  .map((folder) => path.join(folder, 'chromium'))
  .find((file) => existsSync(file))

export const hasChromium = CHROMIUM !== undefined

/** The distribution's own Chromium. */
export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM ?? 'chromium',
    // As root Chromium has no sandbox; and nothing of its own shall go out while we watch what the page asks for.
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
  })
}
