import type { Database } from '../database/database.ts'
import type { SharedStore } from '../drivers/module.ts'

/** For more servers than this, all rows are read: a statement should not list so many ids. */
const FEW = 500

/** A driver's data about machines that several processes share, kept in PostgreSQL. */
export function storeOnPostgres(db: Database): SharedStore {
  return {
    load: async (serverIds) => {
      if (serverIds?.length === 0) return new Map()
      const isFew = serverIds !== undefined && serverIds.length <= FEW
      let rows = db.selectFrom('simulated_machines').selectAll()
      if (isFew) rows = rows.where('server_id', 'in', serverIds)
      return new Map((await rows.execute()).map(({ server_id, machine }) => [server_id, machine] as const))
    },
    change: (serverId, change) =>
      db.transaction().execute(async (tx) => {
        const row = await tx
          .selectFrom('simulated_machines')
          .select('machine')
          .where('server_id', '=', serverId)
          .forUpdate()
          .executeTakeFirst()
        const machine = change(row?.machine)
        if (machine === undefined)
          await tx.deleteFrom('simulated_machines').where('server_id', '=', serverId).execute()
        else
          await tx
            .insertInto('simulated_machines')
            .values({ server_id: serverId, machine })
            .onConflict((conflict) => conflict.column('server_id').doUpdateSet({ machine }))
            .execute()
      }),
  }
}
