import { createConnection } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Service } from './harness/service.ts'

const service = new Service()

beforeAll(async () => {
  await service.prepare()
  await service.start()
})

afterAll(() => service.dispose())

/** Whether something speaks at a port of this host within some seconds; a change takes up to one to be in force. */
function answers(port: number, patienceMs = 2_000): Promise<boolean> {
  return new Promise((resolve) => {
    setTimeout(() => {
      const socket = createConnection({ host: '127.0.0.1', port })
      const end = (isHeard: boolean) => () => {
        socket.destroy()
        resolve(isHeard)
      }
      socket.once('data', end(true)).once('error', end(false)).setTimeout(patienceMs, end(false))
    }, 1_000)
  })
}

test('a real guest behind a closed firewall starts and reboots, and changes of its rules apply at once', async () => {
  const { identity, sshKeyId } = await service.addKey()
  const firewall = (await service.call('POST', '/firewalls', { name: 'closed' })).body
  const change = (rules: object[]) => service.call('PATCH', `/firewalls/${firewall.firewall_id}`, { rules })
  const { server_id: id } = await service.create({
    ssh_key_ids: [sshKeyId],
    firewall_ids: [firewall.firewall_id],
  })
  await service.settle(id)
  const { status, ssh } = (await service.call('GET', `/servers/${id}/details`)).body
  expect([status, ssh.is_ready, ssh.host_key_fingerprints.length > 0]).toEqual(['running', true, true])
  const login = (command: string) => service.ssh(id, command, identity)
  expect(await answers(ssh.port)).toBe(false)
  await change([{ direction: 'in', protocol: 'tcp', ports: '22' }])
  expect(await login('hostname')).toBe((await service.call('GET', `/servers/${id}`)).body.name)
  await service.act(id, 'reboot')
  expect(await login('hostname')).toBeTruthy()
  await expect.poll(() => answers(ssh.port, 20_000)).toBe(true)
  await change([])
  await expect.poll(() => answers(ssh.port)).toBe(false)
  // The guest serves a page on a published port.
  const web = (...ports: string[]) =>
    change(['22', ...ports].map((port) => ({ direction: 'in', protocol: 'tcp', ports: port })))
  await web('80')
  await login('mkdir www && echo hello > www/index.html && sudo busybox httpd -p 80 -h $PWD/www')
  const { host_port } = (await service.call('POST', `/servers/${id}/ports`, { protocol: 'tcp', port: 80 }))
    .body
  const page = () =>
    fetch(`http://127.0.0.1:${host_port}/`, { signal: AbortSignal.timeout(10_000) }).then(
      (reply) => reply.text(),
      () => 'nothing',
    )
  await expect.poll(page).toBe('hello\n')
  await web()
  await expect.poll(page).toBe('nothing')
  await service.act(id, 'reboot', { force: true })
  expect((await service.call('GET', `/servers/${id}`)).body).toMatchObject({
    status: 'running',
    status_reason: null,
  })
  await service.call('DELETE', `/servers/${id}`)
  await service.settle(id)
})
