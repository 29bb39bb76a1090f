import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { expect, onTestFinished, test } from 'vitest'
import { folder, run, serve } from './harness/berthd.ts'
import { listening } from './harness/child.ts'

const TIMEOUT_MS = 900_000

interface Line {
  state: 'ok' | 'warning' | 'fault'
  name: string
  finding: string
  remedy: string | null
}

/** Examines an installation. @returns the exit code, and what was found by name */
async function doctor(data: string, env: Record<string, string> = {}) {
  const settings = { BERTH_DATA: data, BERTH_COMPUTE: 'simulator', ...env }
  const { code, stdout } = await run(['doctor', '--json'], settings)
  const lines: Line[] = JSON.parse(stdout)
  return { code, found: Object.fromEntries(lines.map((line) => [line.name, line])) }
}

/** A mail server that takes everything. @returns its URL */
async function mailServer(): Promise<string> {
  const server = new SMTPServer({ authOptional: true, disabledCommands: ['STARTTLS', 'AUTH'] })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`
}

test(
  'the doctor says what is at fault and what to do, until nothing is',
  async () => {
    const data = folder()
    const service = await serve(data, { BERTH_METRICS: '127.0.0.1:0' })
    const { metrics } = await listening(service)
    const gauges = async () => (await fetch(String(metrics))).text()
    await expect.poll(gauges).toMatch(/^berth_doctor\{check="catalogue"\} 1$/m)
    expect(await gauges()).toMatch(/^berth_doctor\{check="backup"\} 0$/m)
    const ill = await doctor(data, { BERTH_SMTP: 'smtp://127.0.0.1:1', BERTH_PUBLIC_NAME: '127.0.0.1' })
    expect(ill.code).toBe(1)
    expect(ill.found).toMatchObject({
      service: { state: 'ok' },
      catalogue: { state: 'ok' },
      backup: {
        state: 'fault',
        finding: 'there has never been one',
        remedy: expect.stringMatching(/berthd backup/),
      },
      mail: {
        state: 'fault',
        finding: expect.stringMatching(/127\.0\.0\.1:1 does not accept mails: .*; 0 wait/),
      },
      certificate: { state: 'fault', finding: expect.stringMatching(/127\.0\.0\.1 has no valid one/) },
    })
    await run(['backup', `${folder()}/backup.tar`], { BERTH_DATA: data, BERTH_PASSPHRASE: 'correct horse' })
    const well = await doctor(data, { BERTH_SMTP: await mailServer() })
    expect(Object.values(well.found).filter(({ state }) => state === 'fault')).toEqual([])
    expect(well).toMatchObject({ code: 0, found: { mail: { state: 'ok' }, backup: { state: 'ok' } } })
    service.process.kill('SIGTERM')
    await service.ended
    const still = await doctor(data)
    expect(still).toMatchObject({
      code: 1,
      found: { service: { state: 'fault', remedy: expect.stringMatching(/systemctl start/) } },
    })
    // For strangers a missing wall is a fault, and so is a folder that nobody reads in place of a mail server.
    const open = await doctor(data, { BERTH_PUBLIC: 'on' })
    expect(open.found).toMatchObject({ 'real servers': { state: 'fault' }, mail: { state: 'fault' } })
  },
  TIMEOUT_MS,
)

test('the doctor wants an installation', async () => {
  const { code, stderr } = await run(['doctor'], { BERTH_DATA: folder() })
  expect([code, stderr]).toEqual([2, expect.stringMatching(/BERTH_DATA/)])
})
