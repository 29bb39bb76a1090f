import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { isAlive } from './host/process.ts'
import type { Layout } from './layout.ts'
import { type MachineRecord, type RunRecord, readRecord, readRun } from './layout.ts'
import type { Card } from './network/cards.ts'

/** The machines that are on and have a card in the network of all, by what is written down of them. */
export async function runningCards(layout: Layout): Promise<{ pid: number; card: Card }[]> {
  const found = await present(layout)
  return found.flatMap(({ record: { uuid, spec, network }, run }) => {
    if (!run.isRouted || !network || !run.process || !isAlive(run.process, uuid)) return []
    const { pid } = run.process
    const card = { serverId: spec.serverId, mac: spec.interfaces[0]?.mac ?? '', uid: userOf(pid), network }
    return [{ pid, card }]
  })
}

/** As the namespace numbers users: that of an ordinary user has but one. */
function userOf(pid: number): number {
  if (process.getuid?.() !== 0) return 0
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

/** The machines that are on, and not in the network of all. */
export async function runningApart(layout: Layout): Promise<string[]> {
  const apart = (await present(layout)).filter(({ run }) => !run.isRouted)
  return apart.map(({ record }) => record.spec.serverId)
}

async function present(layout: Layout): Promise<{ record: MachineRecord; run: RunRecord }[]> {
  const found: { record: MachineRecord; run: RunRecord }[] = []
  for (const name of await readdir(layout.machines)) {
    try {
      const files = layout.files(name)
      const run = await readRun(files)
      const record = run && (await readRecord(files))
      if (record) found.push({ record, run })
    } catch {
      // Whoever starts or inspects the machine reports it.
    }
  }
  return found
}
