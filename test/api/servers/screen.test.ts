import { expect, test } from 'vitest'
import { TestViewer } from '../../../api/drivers/test-viewer.ts'
import { testApp } from '../../harness/app.ts'
import { consoles } from '../harness/console.ts'
import { make } from '../harness/ordering.ts'

const HOUR = 3600_000

test('a ticket opens the screen: the picture is shown, keys reach the guest, and a stop ends it', async () => {
  const t = await testApp()
  const { screen } = await consoles(t)
  const id = await make(t)
  const opened = await screen(id)
  const viewer = await TestViewer.open(opened.screen)
  expect([viewer.width, viewer.height]).toEqual([640, 400])
  viewer.type('hi')
  await expect
    .poll(() =>
      t.driver
        .keysOf(id)
        .map((key) => String.fromCharCode(key))
        .join(''),
    )
    .toBe('hi')
  await t.call('POST', `/servers/${id}/stop`, { force: true })
  await t.finish()
  expect(await opened.ended).toBe('4000 server_off')
})

test('a screen that is only looked at is closed after an hour, one that is used is not', async () => {
  const t = await testApp()
  const { screen } = await consoles(t)
  const id = await make(t)
  const [idle, used] = [await screen(id), await screen(id)]
  await TestViewer.open(idle.screen)
  const viewer = await TestViewer.open(used.screen)
  t.clock.advance(HOUR - 60_000)
  viewer.type('x')
  await expect.poll(() => t.driver.keysOf(id)).toHaveLength(1)
  // A request for a picture is no input.
  idle.socket.send(Buffer.from([3, 1, 0, 0, 0, 0, 0, 1, 0, 1]))
  t.clock.advance(90_000)
  await t.app.consoles.look()
  expect(await idle.ended).toBe('4002 idle')
  expect(used.socket.readyState).toBe(used.socket.OPEN)
})

test('a machine without a screen says so, and its console opens', async () => {
  const t = await testApp({ simulator: { host: { features: ['console'] } } })
  const id = await make(t)
  expect(await t.call('POST', `/servers/${id}/screen`, {})).toMatchObject({
    status: 409,
    body: { code: 'not_supported', feature: 'screen' },
  })
  expect((await t.call('POST', `/servers/${id}/console`, {})).status).toBe(201)
})
