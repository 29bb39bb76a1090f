import { useState } from 'react'
import { queryClient } from '../client.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { StatusForm } from './account-change.tsx'
import { useOperatorText } from './text.ts'

/** Freezes an account with a reason, right beside the signs of its abuse. */
export function FreezeButton({ account }: { account: { account_id: string; email: string } }) {
  const t = useOperatorText()
  const [isOpen, setIsOpen] = useState(false)
  const close = () => setIsOpen(false)
  const onDone = async () => {
    await queryClient.invalidateQueries({ queryKey: ['operator'] })
    close()
  }
  return (
    <>
      <Button aria-label={t.freezeOf(account.email)} onClick={() => setIsOpen(true)}>
        {t.freeze}
      </Button>
      {isOpen ? (
        <Dialog title={t.freezeOf(account.email)} onClose={close}>
          <StatusForm id={account.account_id} change="freeze" onDone={onDone} onCancel={close} />
        </Dialog>
      ) : null}
    </>
  )
}
