import type { OwnProof as Given, Person } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { queryClient } from '../client.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Form } from '../ui/form.tsx'
import { OwnProof, useProof } from './own-proof.tsx'

interface ProofDialogProps {
  person: Person
  title: string
  about: string
  submit: string
  /** The change that needs the proof. */
  change: (proof: Given) => Promise<unknown>
  onClose: () => void
}

/** Asks for the person's factors before a way to sign in is removed. */
export function ProofDialog({ person, title, about, submit, change, onClose }: ProofDialogProps) {
  const proof = useProof(person)
  const mutation = useMutation({
    mutationFn: () => change(proof.given),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ['session'] })
      onClose()
    },
  })
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        submit={submit}
        mutation={mutation}
        isReady={proof.isReady}
        onSubmit={() => mutation.mutate()}
        onCancel={onClose}
      >
        <p className="muted">{about}</p>
        <OwnProof person={person} proof={proof} />
      </Form>
    </Dialog>
  )
}
