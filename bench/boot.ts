import { execFile, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { performance } from 'node:perf_hooks'
import { promisify } from 'node:util'
import { seedVolume } from '../api/drivers/guest/seed.ts'
import { offeredKeys } from '../api/drivers/guest/ssh.ts'
import { microImage } from '../api/drivers/qemu/images/test-image.ts'
import { Service } from '../test/qemu/harness/service.ts'

const run = promisify(execFile)
const RAW_PORT = 21999

/**
 * Measures the time from POST /servers to a finished ssh login. The reference is QEMU started by hand with the same
 * image, kernel, memory and network back end. The two take turns, so that a host that slows down slows both.
 */
export async function benchBoot(rounds: number): Promise<void> {
  const service = new Service()
  await service.prepare()
  await service.start()
  try {
    const key = await service.addKey()
    const ratios: number[] = []
    for (let round = 0; round < rounds; round++) {
      const raw = await timed(() => rawBoot(service.dataDir, key.identity, round))
      const berth = await timed(() => berthBoot(service, key))
      ratios.push(berth / raw)
      console.log(
        `  round ${round + 1}: raw QEMU ${raw.toFixed(2)} s, Berth ${berth.toFixed(2)} s, ratio ${(berth / raw).toFixed(2)}`,
      )
    }
    const median = [...ratios].sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0
    console.log(
      `POST to ssh login / raw QEMU to ssh login: median ratio ${median.toFixed(2)} (target: at most 1.15)`,
    )
  } finally {
    await service.dispose()
  }
}

async function timed(work: () => Promise<() => Promise<void>>): Promise<number> {
  const start = performance.now()
  const tidy = await work()
  const seconds = (performance.now() - start) / 1000
  await tidy()
  return seconds
}

async function berthBoot(
  service: Service,
  key: { identity: string; sshKeyId: string },
): Promise<() => Promise<void>> {
  const { server_id: id } = await service.create({ ssh_key_ids: [key.sshKeyId] })
  await service.settle(id)
  await service.ssh(id, 'true', key.identity)
  return async () => {
    await service.call('DELETE', `/servers/${id}`)
    await service.settle(id)
  }
}

/** Does the same by hand: overlay, seed, QEMU, wait for the banner, log in. */
async function rawBoot(dir: string, identity: string, round: number): Promise<() => Promise<void>> {
  const mac = '52:54:00:00:00:01'
  const qemu = spawn('qemu-system-x86_64', await rawArguments(dir, identity, round, mac), { stdio: 'ignore' })
  while ((await offeredKeys('127.0.0.1', RAW_PORT, 900, false)) === null);
  const trust = [
    'UserKnownHostsFile=/dev/null',
    'StrictHostKeyChecking=no',
    'BatchMode=yes',
    'LogLevel=ERROR',
  ]
  const options = ['-F', 'none', ...trust.flatMap((option) => ['-o', option])]
  await run('ssh', [...options, '-i', identity, '-p', String(RAW_PORT), 'berth@127.0.0.1', 'true'])
  return async () => {
    const ended = new Promise((resolve) => qemu.once('exit', resolve))
    qemu.kill('SIGKILL')
    await ended
  }
}

async function rawArguments(dir: string, identity: string, round: number, mac: string): Promise<string[]> {
  const { disk: base, direct } = await microImage()
  if (!direct) throw new Error('the image has no kernel beside it')
  const disk = path.join(dir, `raw-${round}.qcow2`)
  await run('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', base, '-F', 'qcow2', disk, '5G'])
  const sshPublicKeys = [readFileSync(`${identity}.pub`, 'utf8').trim()]
  const guest = {
    instanceId: `raw-${round}`,
    hostname: 'raw',
    username: 'berth',
    sshPublicKeys,
    userData: null,
  }
  const seed = path.join(dir, `raw-${round}.seed`)
  writeFileSync(seed, seedVolume({ ...guest, interfaces: [{ mac, addresses: [] }], passwordHash: null }))
  return [
    ...['-nodefaults', '-display', 'none', '-machine', 'q35,graphics=off', '-m', '256M'],
    ...['-accel', 'tcg,thread=multi,tb-size=64', '-cpu', 'max'],
    ...['-kernel', direct.kernel, '-initrd', direct.initrd, '-append', direct.append],
    ...['-drive', `file=${disk},format=qcow2,if=virtio`],
    ...['-drive', `file=${seed},format=raw,if=virtio,readonly=on`],
    ...['-netdev', `user,id=n0,hostfwd=tcp:127.0.0.1:${RAW_PORT}-:22`],
    ...['-device', `virtio-net-pci,netdev=n0,mac=${mac},romfile=`, '-device', 'virtio-rng-pci'],
  ]
}
