import { existsSync } from 'node:fs'
import path from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const CHROMIUM = (process.env.PATH ?? '')
  .split(path.delimiter)
  .map((folder) => path.join(folder, 'chromium'))
  .find((file) => existsSync(file))

export const hasChromium = CHROMIUM !== undefined
/** The time for each step in milliseconds, that of polls. By itself a page fails after 30 s, as on a busy machine. */
const PATIENCE_MS = 120_000

/** The distribution's own Chromium. */
export async function launch(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM ?? 'chromium',
    timeout: PATIENCE_MS,
    // As root Chromium has no sandbox; and nothing of its own shall go out while we watch what the page asks for.
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
  })
  browser.on('context', (context) => context.setDefaultTimeout(PATIENCE_MS))
  return browser
}
