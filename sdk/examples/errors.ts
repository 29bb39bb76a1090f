import { Berth, BerthError, ConnectionError, isBerthError, OperationFailed } from '@berth/sdk'

const berth = new Berth({ baseUrl: process.env.BERTH_URL ?? '', token: process.env.BERTH_TOKEN })

try {
  const { items } = await berth.servers.list({ name: 'sdk-1' })
  for (const { server_id } of items) await berth.operations.wait(await berth.servers.start(server_id))
} catch (error) {
  if (isBerthError(error, 'server_state_conflict')) {
    const { current_status, allowed_statuses } = error.problem
    console.log(`The server is ${current_status}; it must be ${allowed_statuses.join(' or ')} to be started.`)
  } else if (error instanceof BerthError) {
    console.log(`${error.detail} Request id: ${error.requestId}`)
  } else if (error instanceof OperationFailed) {
    console.log(`The operation failed: ${error.message}`)
  } else if (error instanceof ConnectionError) {
    console.log(error.message)
  } else throw error
}
