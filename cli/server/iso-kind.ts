import { kind } from '../find.ts'

export const isoKind = kind({
  noun: 'ISO',
  all: (berth) => berth.isos.listAll(),
  id: ({ iso_id }) => iso_id,
  name: ({ slug, name }) => slug ?? name,
})
