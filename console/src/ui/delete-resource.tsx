import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { queryClient } from '../client.ts'
import { ConfirmDelete } from './confirm-delete.tsx'

interface DeleteResourceProps {
  title: string
  name: string
  /** The first part of the keys of the queries that show the object. */
  resource: string
  remove: () => Promise<unknown>
  onDeleted?: () => void
  onClose: () => void
  children: ReactNode
}

export function DeleteResource(props: DeleteResourceProps) {
  const { title, name, resource, remove, onDeleted, onClose, children } = props
  const mutation = useMutation({
    mutationFn: remove,
    onSuccess: async () => {
      onDeleted?.()
      await queryClient.invalidateQueries({ queryKey: [resource, 'list'] })
      onClose()
    },
  })
  return (
    <ConfirmDelete title={title} name={name} mutation={mutation} onClose={onClose}>
      {children}
    </ConfirmDelete>
  )
}
