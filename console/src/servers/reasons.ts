import { messages } from '../messages.ts'

/** The causes of failed operations and of states that no request led to, by the API's codes. */
export const useReasonText = messages({
  en: {
    account_suspended: 'The account was suspended.',
    balance_depleted: 'The balance is used up.',
    boot_failed: 'The server shut down before SSH was ready. Check its user data and its image.',
    boot_timeout:
      'SSH on the server was not ready in time. The server keeps running and may still become ready.',
    copy_too_slow: 'The disk took too long to copy. Stop the server, or let it write less, and try again.',
    crash_loop: 'The server crashed several times in a row.',
    crashed: 'The server crashed and is being started again.',
    disk_full: 'The host has no space left. Try again later, or contact the operator.',
    disk_lost: 'The disk of the server is missing on its host. Contact the operator.',
    guest_shutdown: 'The operating system of the server shut down.',
    host_unavailable: 'The host of the server does not respond, so this may be out of date.',
    image_not_ready: 'The image is not ready yet. Try again later.',
    image_unavailable: 'The image could not be prepared. Choose another image, or try again later.',
    image_unusable: 'The image can’t be used. Choose another one.',
    internal_error: 'An internal error occurred. Contact the operator.',
    operation_timeout: 'The operation did not finish in time.',
    port_taken: 'The port is in use. Try again.',
    server_deleted: 'The server was deleted meanwhile.',
    server_suspended: 'The operator suspended this server.',
    start_failed: 'The host could not start the server. Try again, or contact the operator.',
    unavailable: 'The host of the server does not respond. Try again later.',
    volume_lost: 'A volume of the server is missing on its host. Detach it, or contact the operator.',
  },
  ru: {
    account_suspended: 'Аккаунт приостановлен.',
    balance_depleted: 'Баланс исчерпан.',
    boot_failed: 'Сервер выключился раньше, чем заработал SSH. Проверьте user data и образ.',
    boot_timeout:
      'SSH на сервере не заработал вовремя. Сервер продолжает работать, SSH может ответить позже.',
    copy_too_slow: 'Диск копировался слишком долго. Остановите сервер или уменьшите запись и повторите.',
    crash_loop: 'Сервер аварийно завершился несколько раз подряд.',
    crashed: 'Сервер аварийно завершился и запускается снова.',
    disk_full: 'На хосте не осталось места. Повторите позже или обратитесь к оператору.',
    disk_lost: 'Диска сервера нет на хосте. Обратитесь к оператору.',
    guest_shutdown: 'Операционная система сервера завершила работу.',
    host_unavailable: 'Хост сервера не отвечает, поэтому данные могли устареть.',
    image_not_ready: 'Образ ещё не готов. Повторите позже.',
    image_unavailable: 'Не удалось подготовить образ. Выберите другой или повторите позже.',
    image_unusable: 'Образ не подходит. Выберите другой.',
    internal_error: 'Внутренняя ошибка. Обратитесь к оператору.',
    operation_timeout: 'Операция не завершилась вовремя.',
    port_taken: 'Порт занят. Повторите.',
    server_deleted: 'Сервер тем временем удалён.',
    server_suspended: 'Оператор приостановил этот сервер.',
    start_failed: 'Хост не смог запустить сервер. Повторите или обратитесь к оператору.',
    unavailable: 'Хост сервера не отвечает. Повторите позже.',
    volume_lost: 'Тома сервера нет на хосте. Отключите его или обратитесь к оператору.',
  },
})

/** @returns a function that puts a code into words; a newer service may have codes that the console does not know */
export function useReason(): (code: string, unknown?: string) => string {
  const texts: Readonly<Record<string, string>> = useReasonText()
  return (code, unknown = code) => texts[code] ?? unknown
}
