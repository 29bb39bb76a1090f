import { existsSync } from 'node:fs'
import path from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const CHROMIUM = (process.env.PATH ?? '')
  .split(path.delimiter)
  .map((folder) => path.join(folder, 'chromium'))
  .find((file) => existsSync(file))

export const hasChromium = CHROMIUM !== undefined
/** The time limit of each step in milliseconds, as for polls: the default of 30 s is too short on a busy machine. */
const PATIENCE_MS = 120_000

/** The distribution's own Chromium. */
export async function launch(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM ?? 'chromium',
    timeout: PATIENCE_MS,
    // Chromium has no sandbox as root. Its own requests are turned off, so that only those of the page are seen.
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
  })
  browser.on('context', (context) => context.setDefaultTimeout(PATIENCE_MS))
  return browser
}
