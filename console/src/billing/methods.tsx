import type { PaymentMethod } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../client.ts'
import { ConfirmDelete } from '../ui/confirm-delete.tsx'
import { Guarded } from '../ui/guarded.tsx'
import { Menu } from '../ui/menu.tsx'
import { Card } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'
import { methodsQuery } from './queries.ts'
import { useBillingText } from './text.ts'

/** Such as "visa 4242". */
export const methodName = ({ brand, last_four }: PaymentMethod) =>
  last_four === null ? brand : `${brand} ${last_four}`

/** The saved payment methods; nothing if there are none. */
export function Methods() {
  const t = useBillingText()
  const [deleted, setDeleted] = useState<PaymentMethod | null>(null)
  const items = useQuery(methodsQuery).data?.items ?? []
  if (items.length === 0) return null
  return (
    <Card title={t.methods}>
      <Table
        label={t.methods}
        rows={items}
        idOf={({ payment_method_id }) => payment_method_id}
        columns={[
          { title: t.method, cell: methodName },
          { title: t.expires, cell: ({ expires }) => expires ?? '' },
          {
            title: '',
            cell: (method) => (
              <Guarded scope="account:write">
                <Menu
                  label={t.actionsOf(methodName(method))}
                  items={[
                    {
                      title: t.deleteMethod,
                      icon: 'trash',
                      isDangerous: true,
                      onSelect: () => setDeleted(method),
                    },
                  ]}
                />
              </Guarded>
            ),
          },
        ]}
      />
      {deleted ? <DeleteMethod method={deleted} onClose={() => setDeleted(null)} /> : null}
    </Card>
  )
}

function DeleteMethod({ method, onClose }: { method: PaymentMethod; onClose: () => void }) {
  const t = useBillingText()
  const name = methodName(method)
  const remove = useMutation({
    mutationFn: () => berth.payments.deleteMethod(method.payment_method_id),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['balance', 'methods'] })
      onClose()
    },
  })
  return (
    <ConfirmDelete title={t.deleteMethodTitle(name)} name={name} mutation={remove} onClose={onClose}>
      <p>{t.deleteMethodAbout}</p>
    </ConfirmDelete>
  )
}
