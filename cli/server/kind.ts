import { kind, UUID } from '../find.ts'

export const serverKind = kind({
  noun: 'server',
  // Accounts can have thousands.
  all: (berth, name) =>
    name !== undefined && UUID.test(name)
      ? berth.servers.get(name).then((server) => [server])
      : berth.servers.listAll({ name }),
  id: ({ server_id }) => server_id,
  name: ({ name }) => name,
})
