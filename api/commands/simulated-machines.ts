import type { Database } from '../database/database.ts'
import type { Machine, MachineStore } from '../drivers/simulator/machine.ts'

const FEW = 500

/** The machines of a simulator that several processes share. */
export function sharedMachines(db: Database): MachineStore {
  return {
    load: async (serverIds) => {
      if (serverIds?.length === 0) return new Map()
      // More than a statement should name are read with all others.
      const isFew = serverIds !== undefined && serverIds.length <= FEW
      let rows = db.selectFrom('simulated_machines').selectAll()
      if (isFew) rows = rows.where('server_id', 'in', serverIds)
      return new Map(
        (await rows.execute()).map(({ server_id, machine }) => [server_id, opened(machine)] as const),
      )
    },
    change: (serverId, change) =>
      db.transaction().execute(async (tx) => {
        const row = await tx
          .selectFrom('simulated_machines')
          .select('machine')
          .where('server_id', '=', serverId)
          .forUpdate()
          .executeTakeFirst()
        const after = change(row && opened(row.machine))
        if (after) {
          const machine = JSON.stringify(after)
          await tx
            .insertInto('simulated_machines')
            .values({ server_id: serverId, machine })
            .onConflict((conflict) => conflict.column('server_id').doUpdateSet({ machine }))
            .execute()
        } else await tx.deleteFrom('simulated_machines').where('server_id', '=', serverId).execute()
      }),
  }
}

/** Nobody writes machines but the simulator. */
function opened(text: string): Machine {
  const machine: Machine = JSON.parse(text)
  return machine
}
