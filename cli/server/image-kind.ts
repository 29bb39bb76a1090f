import { kind } from '../find.ts'

export const imageKind = kind({
  noun: 'image',
  all: (berth) => berth.images.listAll(),
  id: ({ image_id }) => image_id,
  name: ({ name }) => name,
})
