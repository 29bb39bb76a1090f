import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** The width of a narrow phone in pixels. */
export const PHONE = 375

export const scrollsSideways = (page: Page) =>
  page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')

/** Finds the serious accessibility faults of a page in its current state. */
export async function inaccessible(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(axe)
  return page.evaluate(async () => {
    const { violations }: import('axe-core').AxeResults = await Reflect.get(globalThis, 'axe').run()
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ; ')}`)
  })
}

/** Finds the faults of a page on a phone: accessibility faults, and sideways scrolling. */
export async function faultsOnPhone(page: Page): Promise<string[]> {
  const before = page.viewportSize()
  await page.setViewportSize({ width: PHONE, height: 800 })
  const found = await inaccessible(page)
  if (await scrollsSideways(page)) found.push('scrolls sideways')
  if (before) await page.setViewportSize(before)
  return found
}
