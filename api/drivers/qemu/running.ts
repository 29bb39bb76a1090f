import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { isAlive } from './host/process.ts'
import type { Layout } from './layout.ts'
import { type MachineRecord, type RunRecord, readRecord, readRun } from './layout.ts'
import type { Card } from './network/cards.ts'

/** Returns the running machines that have a card in the network of all guests, from their records. */
export async function runningCards(layout: Layout): Promise<{ pid: number; card: Card }[]> {
  const found = await present(layout)
  return found.flatMap(({ record: { uuid, spec, network }, run }) => {
    if (!run.isRouted || !network || !run.process || !isAlive(run.process, uuid)) return []
    const { pid } = run.process
    const card = { serverId: spec.serverId, mac: spec.interfaces[0]?.mac ?? '', uid: userOf(pid), network }
    return [{ pid, card }]
  })
}

/** Returns the process's user in the namespace's numbering: an ordinary user's namespace has only one. */
function userOf(pid: number): number {
  if (process.getuid?.() !== 0) return 0
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

/** Returns the running machines outside of the network of all guests. */
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
      // The caller that starts or inspects the machine reports it.
    }
  }
  return found
}
