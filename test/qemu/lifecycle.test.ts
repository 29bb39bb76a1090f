import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isPortOpen, Service, until } from './harness/service.ts'

const service = new Service()
let identity = ''
let sshKeyId = ''

beforeAll(async () => {
  await service.prepare()
  await service.start()
  const key = await service.addKey()
  identity = key.identity
  sshKeyId = key.sshKeyId
})

afterAll(() => service.dispose())

const isQemu = (line: string) => line.includes(' qemu-system')
const status = async (id: string) => (await service.call('GET', `/servers/${id}`)).body.status

test('a server keeps its files through stop, start, reboot and a bigger disk, and leaves nothing behind', async () => {
  const { server_id: id } = await service.create({ name: 'web-1', ssh_key_ids: [sshKeyId] })
  await service.settle(id)
  const { ssh } = (await service.call('GET', `/servers/${id}/details`)).body
  expect(ssh).toMatchObject({ is_ready: true, auth_methods: ['public_key'], password: null })
  expect(await service.ssh(id, 'hostname && whoami', identity)).toBe('web-1\nberth')
  await service.ssh(id, 'echo precious > file && sync', identity)

  await service.act(id, 'stop')
  expect(await status(id)).toBe('stopped')
  expect(service.processesOf(id)).toEqual([])
  await service.act(id, 'start')
  expect(await service.ssh(id, 'cat file', identity)).toBe('precious')

  const booted = await service.ssh(id, 'cat /proc/sys/kernel/random/boot_id', identity)
  await service.act(id, 'reboot')
  expect(await service.ssh(id, 'cat /proc/sys/kernel/random/boot_id', identity)).not.toBe(booted)
  await service.act(id, 'reboot', { force: true })
  expect(await service.ssh(id, 'cat file', identity)).toBe('precious')

  await service.act(id, 'stop')
  expect((await service.call('PATCH', `/servers/${id}`, { disk_gb: 15, ram_mb: 512 })).status).toBe(202)
  await service.settle(id)
  await service.act(id, 'start')
  const [disk = '', memory = ''] = (
    await service.ssh(id, 'df -m / | tail -1 && grep MemTotal /proc/meminfo', identity)
  ).split('\n')
  expect(Number(disk.trim().split(/ +/)[1])).toBeGreaterThan(14_000)
  expect(Number(memory.split(/ +/)[1])).toBeGreaterThan(400_000)
  expect(await service.ssh(id, 'cat file', identity)).toBe('precious')

  expect((await service.call('DELETE', `/servers/${id}`)).status).toBe(202)
  await service.settle(id)
  expect((await service.call('GET', `/servers/${id}`)).status).toBe(404)
  expect(service.processesOf(id)).toEqual([])
  expect(existsSync(path.join(service.dataDir, 'vms', id))).toBe(false)
  expect(readdirSync(path.join(service.dataDir, 'trash'))).toEqual([])
  expect(await isPortOpen(ssh.port)).toBe(false)
})

test('an image without a kernel beside it boots by its own GRUB, and a server without keys takes its password', async () => {
  const { server_id: id } = await service.create({ name: 'grub' }, 'micro-disk')
  await service.settle(id)
  expect(await service.ssh(id, 'hostname', null)).toBe('grub')
  const [qemu = ''] = service.processesOf(id).filter(isQemu)
  expect(qemu).not.toContain(' -kernel ')
})

test('a rebuilt server has a fresh disk with the new system, and keeps its addresses', async () => {
  const { server_id: id } = await service.create({ name: 'again', ssh_key_ids: [sshKeyId] })
  await service.settle(id)
  const { ssh: before, network } = (await service.call('GET', `/servers/${id}/details`)).body
  await service.ssh(id, 'echo precious > file && sync', identity)
  const { body: templates } = await service.call('GET', '/templates')
  const { template_id } = templates.find(({ slug }: { slug: string }) => slug === 'micro-disk')
  await service.act(id, 'rebuild', { template_id })
  const { ssh: after, ...details } = (await service.call('GET', `/servers/${id}/details`)).body
  expect(details).toMatchObject({ status: 'running', template_id, network })
  expect(after.command).toBe(before.command)
  expect(after.host_key_fingerprints).not.toEqual(before.host_key_fingerprints)
  expect(await service.ssh(id, 'hostname; ls', identity)).toBe('again')
  const [qemu = ''] = service.processesOf(id).filter(isQemu)
  expect(qemu).not.toContain(' -kernel ')
})

test('user data is executed, and the CPU is of the requested vendor', async () => {
  const user_data = '#!/bin/sh\necho "$(hostname) was here" > /run/told\n'
  const { server_id: id } = await service.create({
    name: 'told',
    cpu_type: 'intel',
    ssh_key_ids: [sshKeyId],
    user_data,
  })
  await service.settle(id)
  expect(
    await service.ssh(
      id,
      'for i in $(seq 50); do [ -s /run/told ] && break; sleep 0.2; done; cat /run/told',
      identity,
    ),
  ).toBe('told was here')
  expect(await service.ssh(id, 'grep -m1 vendor_id /proc/cpuinfo', identity)).toContain('GenuineIntel')
  await service.ssh(id, 'sudo -n poweroff', identity).catch(() => '')
  await until('the guest turned itself off', 240_000, async () => (await status(id)) !== 'running')
  expect((await service.call('GET', `/servers/${id}`)).body).toMatchObject({
    status: 'stopped',
    status_reason: 'guest_shutdown',
  })
})

test('Ctrl-C leaves servers running, and the next start finds them', async () => {
  const { server_id: id } = await service.create({ ssh_key_ids: [sshKeyId] })
  await service.settle(id)
  const booted = await service.ssh(id, 'cat /proc/sys/kernel/random/boot_id', identity)
  await service.stop('SIGINT')
  // The thread that probes guests must end at once, or else it would stay for a minute and be cut off.
  expect(service.output).not.toContain('not all work finished')
  expect(service.output).toContain('Servers keep running')
  expect(service.processesOf(id)).not.toEqual([])
  await service.start()
  expect(await status(id)).toBe('running')
  expect(await service.ssh(id, 'cat /proc/sys/kernel/random/boot_id', identity)).toBe(booted)
  await service.call('DELETE', `/servers/${id}`)
  await service.settle(id)
})

test('a service killed while a guest boots, and again while it shuts down, finishes both with a single machine', async () => {
  const step = async (id: string) =>
    (await service.call('GET', `/servers/${id}/operations?limit=1`)).body.items[0].step
  const { server_id: id } = await service.create({ name: 'survivor', ssh_key_ids: [sshKeyId] })
  await until('the guest boots', 240_000, async () => (await step(id)) === 'ready')
  await service.stop('SIGKILL')
  await service.start()
  await service.settle(id)
  expect(await service.ssh(id, 'hostname', identity)).toBe('survivor')
  expect(service.processesOf(id).filter(isQemu)).toHaveLength(1)

  await service.call('POST', `/servers/${id}/stop`)
  await until('the guest shuts down', 240_000, async () => (await step(id)) !== 'shutdown')
  await service.stop('SIGKILL')
  await service.start()
  await service.settle(id)
  expect(await status(id)).toBe('stopped')
  expect(service.processesOf(id)).toEqual([])
})

test('a machine that dies is started again', async () => {
  const { server_id: id } = await service.create({ name: 'mortal', ssh_key_ids: [sshKeyId] })
  await service.settle(id)
  const [qemu = ''] = service.processesOf(id).filter(isQemu)
  process.kill(Number(qemu.split(' ')[0]), 'SIGKILL')
  await until('it is noticed', 240_000, async () => (await status(id)) === 'starting')
  await service.settle(id)
  expect(await service.ssh(id, 'hostname', identity)).toBe('mortal')
})
