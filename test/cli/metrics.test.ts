import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { simulatedUse } from '../../api/drivers/simulator/use.ts'
import type { TestApp } from '../harness/app.ts'
import { expectSession, loggedIn } from './harness/berth.ts'
import { lookedAt } from './harness/looked-at.ts'

async function sample(t: TestApp, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    t.clock.advance(10_000)
    await t.app.sampler.round()
  }
}

/** The usage of a simulated machine depends on its random id, so all machines report that of this name. */
function foresee({ driver }: TestApp): void {
  const measure = driver.measure.bind(driver)
  const size = { serverId: 'web-1', cpu: 1, ramMb: 512, diskGb: 5 }
  driver.measure = async (ids) => {
    const measured = [...(await measure(ids))]
    return new Map(
      measured.map(([id, { startedAt, measuredAt }]) => [id, simulatedUse(size, startedAt, measuredAt)]),
    )
  }
}

test('current usage is a card and past usage are charts; an unknown value is not 0', async () => {
  const t = await loggedIn()
  foresee(t)
  await t.make('web-1')
  await sample(t, 90)
  await t.run('server stop web-1 --wait')
  await sample(t, 90)
  await t.run('server start web-1 --wait')
  await sample(t, 60)
  await expectSession(t, 'metrics', [
    'server stats web-1',
    'server stats web-1 -o json',
    'server metrics --type cpu --type network web-1',
    'server metrics web-1 --since 24h --type memory',
    'server metrics web-1 --type cpu --step 600 -o json',
    'server metrics web-1 --step 5',
    'server metrics web-1 --since 2h',
    'server metrics web-1 --type load',
    'server metrics web-2',
    'server stats web-1 --interval never',
    'server stop web-1 --wait',
    'server stats web-1',
  ])
})

test('30 days can be requested to the second, whatever the local clock says', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  const metrics = JSON.parse((await t.run('server metrics web-1 --since 30d -o json')).out)
  expect(Date.parse(metrics.end)).toBe(t.clock.now())
  expect(Date.parse(metrics.end) - Date.parse(metrics.start)).toBe(30 * 86_400_000)
})

test('charts are as wide as the terminal', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  for (const columns of [40, 120]) {
    const looked = lookedAt(['server', 'metrics', 'web-1', '--type', 'cpu'], { env: t.env, columns })
    expect(await looked.code).toBe(0)
    const axis = looked
      .out()
      .split('\n')
      .find((line) => line.includes('└'))
    expect(axis).toHaveLength(columns)
  }
})

test('watching on a terminal shows one card that is updated until Ctrl-C', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  await sample(t, 2)
  const looked = lookedAt(['server', 'stats', 'web-1', '--watch', '--interval', '0.1'], { env: t.env })
  await looked.printed((out) => out.split('Measured:').length > 2)
  looked.interrupt()
  expect(await looked.code).toBe(0)
  const [first = '', second = ''] = looked.out().split('\x1b[?7h')
  expect(stripVTControlCharacters(first)).toMatch(/^CPU: +[█░]{10} \d/m)
  const height = first.split('\n').length - 1
  expect(second.startsWith(`\x1b[?7l\x1b[${height}A\x1b[J`)).toBe(true)
})

test('without a terminal, each reading is a line or a JSON object', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  const watch = async (...more: string[]) => {
    const args = ['server', 'stats', 'web-1', '--watch', '--interval', '0.1', ...more]
    const looked = lookedAt(args, { env: t.env, isTTY: false })
    await looked.printed((out) => out.split('\n').length > 3)
    looked.interrupt()
    expect(await looked.code).toBe(0)
    return looked.out().split('\n').slice(0, 3)
  }
  const [titles = '', first = '', second] = await watch()
  expect(titles).toMatch(/^TIME +STATUS +CPU/)
  expect(first.indexOf('running')).toBe(titles.indexOf('STATUS'))
  expect(second).toBe(first)
  for (const line of await watch('-o', 'json')) expect(JSON.parse(line)).toMatchObject({ status: 'running' })
})

test('watching reports that a server was deleted', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  const looked = lookedAt(['server', 'stats', 'web-1', '--watch', '--interval', '0.1'], { env: t.env })
  await looked.printed((out) => out.includes('Measured:'))
  await t.run('server delete web-1 --yes --wait')
  expect(await looked.code).toBe(3)
})
