import type { OperatedAccount } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { berth } from '../client.ts'
import { Button } from '../ui/button.tsx'
import { Command } from '../ui/copy.tsx'
import { Form } from '../ui/form.tsx'
import { useAccountFormsText } from './account-forms-text.ts'

interface LoginFormProps {
  account: OperatedAccount
  onCancel: () => void
}

/** A link that signs the owner of an account in, for customers who can't get in. */
export function LoginForm({ account, onCancel }: LoginFormProps) {
  const t = useAccountFormsText()
  const link = useMutation({ mutationFn: () => berth.operator.createLogin(account.account_id) })
  if (link.data)
    return (
      <div className="stack">
        <p>{t.loginMade(link.data.email)}</p>
        <Command text={link.data.url} />
        <div className="row">
          <Button kind="primary" onClick={onCancel}>
            {t.done}
          </Button>
        </div>
      </div>
    )
  return (
    <Form submit={t.createLogin} mutation={link} onSubmit={() => link.mutate()} onCancel={onCancel}>
      <p>{t.loginAbout}</p>
    </Form>
  )
}
