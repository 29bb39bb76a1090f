import { afterAll, beforeAll, expect, test } from 'vitest'
import { Service, until } from './harness/service.ts'

const service = new Service()

beforeAll(async () => {
  await service.prepare()
  await service.start()
})

afterAll(() => service.dispose())

test('the disk of a server is repaired from the rescue system, which survives the death of QEMU and of the service', async () => {
  const { identity, sshKeyId } = await service.addKey()
  const { server_id: id } = await service.create({ name: 'web-1', ssh_key_ids: [sshKeyId] })
  await service.settle(id)
  const { ssh } = (await service.call('GET', `/servers/${id}/details`)).body
  await service.ssh(id, 'echo broken > file && sync', identity)

  await service.act(id, 'rescue', {})
  expect(await service.ssh(id, 'hostname && whoami && cat /sys/block/vdc/serial', null)).toBe(
    'rescue\nroot\nserver-disk',
  )
  const place = '/mnt/home/berth/file'
  const mount = 'mount -t ext4 /dev/vdc1 /mnt'
  expect(
    await service.ssh(id, `${mount} && cat ${place} && echo repaired > ${place} && umount /mnt`, null),
  ).toBe('broken')
  await service.stop('SIGKILL')
  await service.start()
  const [pid] =
    service
      .processesOf(id)
      .find((line) => line.includes(' qemu-system'))
      ?.split(' ') ?? []
  const { started_at } = (await service.call('GET', `/servers/${id}`)).body
  process.kill(Number(pid), 'SIGKILL')
  await until('the server runs again', 240_000, async () => {
    const { body } = await service.call('GET', `/servers/${id}`)
    return body.status === 'running' && body.started_at !== null && body.started_at !== started_at
  })
  expect(await service.ssh(id, `hostname && ${mount} && cat ${place}`, null)).toBe('rescue\nrepaired')

  await service.act(id, 'unrescue')
  const after = (await service.call('GET', `/servers/${id}/details`)).body
  expect(after).toMatchObject({ rescue: false, ssh: { port: ssh.port, username: 'berth', password: null } })
  expect(after.ssh.host_key_fingerprints).toEqual(ssh.host_key_fingerprints)
  expect(
    await service.ssh(id, 'cat file && cat /sys/block/vdb/serial && ls /dev/vdc || true', identity),
  ).toMatch(/^repaired/)
})
