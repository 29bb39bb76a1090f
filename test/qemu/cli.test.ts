import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hasChromium, launch } from '../browser/chromium.ts'
import { liar } from '../cli/harness/liar.ts'
import { screenOfCommand } from '../harness/terminal.ts'
import { Service } from './harness/service.ts'

const service = new Service()
const main = path.resolve(import.meta.dirname, '../../cli/main.ts')
let identity = ''

beforeAll(async () => {
  await service.prepare()
  await service.start()
  identity = (await service.addKey()).identity
})

afterAll(() => service.dispose())

const SMALLEST = ['--template', 'micro', '--preset', 'nano']

/** Runs the program as a customer does, with a separate home folder. */
async function berth(args: string[], url = service.address) {
  const env = {
    ...process.env,
    BERTH_URL: url,
    BERTH_TOKEN: service.token,
    HOME: service.dataDir,
    XDG_CONFIG_HOME: service.dataDir,
  }
  const run = promisify(execFile)(process.execPath, [main, ...args], { env, timeout: 600_000 })
  return run.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    // execFile rejects with this error if the exit code is not 0.
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
}

test('a customer orders a server and logs in to it by its name, and only with its own host key', async () => {
  const order = [...SMALLEST, '--ssh-key', 'e2e']
  expect(await berth(['server', 'create', 'web-1', ...order])).toMatchObject({ code: 0 })
  // The server is still booting, so ssh waits.
  const ssh = ['server', 'ssh', 'web-1', '-i', identity, '--']
  expect(await berth([...ssh, 'uname', '-a'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Linux web-1 /),
  })
  expect(await berth([...ssh, 'exit 42'])).toMatchObject({ code: 42 })

  const wrong = await liar(service.address, ({ ssh: { host_key_fingerprints: keys } }) => {
    // The same kind of key, with other numbers.
    for (const key of keys) key.public_key = key.public_key.replace(/.{4}$/, 'AAAA')
  })
  const refused = await berth([...ssh, 'uname'], wrong)
  expect(refused).toMatchObject({ code: 255, stdout: '' })
  expect(refused.stderr).toContain('Host key verification failed.')
})

async function loginOf(server_id: string): Promise<{ username: string; password: string }> {
  return (await service.call('GET', `/servers/${server_id}/details`)).body.ssh
}

/** Creates a server in the web console, and logs in to it in its terminal. */
async function clickServer(name: string): Promise<void> {
  const browser = await launch()
  try {
    const page = await browser.newPage({
      locale: 'en-US',
      extraHTTPHeaders: { authorization: `Bearer ${service.token}` },
    })
    page.setDefaultTimeout(240_000)
    await page.goto(`${new URL(service.address).origin}/servers/new`)
    await page.getByRole('radio', { name: /^nano / }).check({ force: true })
    await page.getByRole('checkbox', { name: /^e2e / }).uncheck()
    await page.getByLabel('Name', { exact: true }).fill(name)
    await page.getByRole('button', { name: 'Create server' }).click()
    await page.getByText('Running', { exact: true }).waitFor()
    const login = await loginOf(new URL(page.url()).pathname.split('/')[2] ?? '')
    await page.getByRole('link', { name: 'Terminal' }).click()
    const screen = page.locator('.xterm-rows')
    const answer = async (asked: string, typed: string) => {
      await screen.getByText(asked).last().waitFor()
      await page.keyboard.type(`${typed}\n`)
    }
    await answer('login:', login.username)
    await answer('Password:', login.password)
    await answer('$', 'uname -a')
    await screen.getByText(`Linux ${name} `).waitFor()
  } finally {
    await browser.close()
  }
}

test('a server created by clicking accepts a login by password in the browser, whose terminal survives a restart of the service', async () => {
  if (hasChromium) await clickServer('web-2')
  else await berth(['server', 'create', 'web-2', '--no-ssh-key', '--wait', ...SMALLEST])
  const at = (url: string) =>
    screenOfCommand(
      `exec '${process.execPath}' '${main}' server console web-2`,
      { BERTH_URL: url, BERTH_TOKEN: service.token, HOME: service.dataDir },
      { patienceMs: 240_000 },
    )
  const first = at(service.address)
  if (!hasChromium) {
    const { username, password } = await loginOf(
      (await service.call('GET', '/servers')).body.items[0].server_id,
    )
    await first.answer('login:', `${username}\r`)
    await first.answer('Password:', `${password}\r`)
    await first.answer('$', 'uname -a\r')
  }
  await first.shows(/Linux web-2 /)
  await service.stop()
  expect(await first.ended()).toBe(1)
  expect(first.text()).toContain('Disconnected from the console: The service is restarting.')
  await service.start()
  const second = at(service.address)
  await second.shows(/Linux web-2 /)
  await second.answer('$', 'echo $((40 + 2))\r')
  await second.answer(/^42$/m, '\x1d')
  expect(await second.ended()).toBe(0)
})
