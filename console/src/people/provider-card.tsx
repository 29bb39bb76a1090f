import { useMutation } from '@tanstack/react-query'
import { berth, queryClient } from '../client.ts'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/page.tsx'
import { Failed } from '../ui/states.tsx'
import { useSecurityText } from './security-text.ts'

/** The provider that signs the person in as well. */
export function ProviderCard({ name }: { name: string }) {
  const t = useSecurityText()
  const remove = useMutation({
    mutationFn: () => berth.person.removeIdentity(),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['session'] }),
  })
  return (
    <Card title={t.provider}>
      <div className="body security-row">
        <p>{t.providerConnected(name)}</p>
        <Button kind="danger" isBusy={remove.isPending} onClick={() => remove.mutate()}>
          {t.disconnect}
        </Button>
      </div>
      {remove.error ? <Failed error={remove.error} /> : null}
    </Card>
  )
}
