import type { approvals as en } from '../en/approvals.ts';
import { approvalActions, approvalStatuses, planChangeRequests } from './codes.ts';

export const approvals: Record<keyof typeof en, string> = {
  'approvals.none': 'Hakuna kilichotumwa kwa idhini bado.',
  'approvals.action': 'Kitendo',
  'approvals.title': '{action}: {amount}',
  'approvals.requestedBy': 'Aliyeomba',
  'approvals.me': 'Mimi',
  'approvals.payment': 'Malipo',
  'approvals.receiver': 'Inaenda kwa akaunti',
  'approvals.counted': 'Kiasi kilicholinganishwa na kikomo',
  'approvals.decidedBy': 'Aliyeamua',
  'approvals.decisionReason': 'Sababu ya kukataliwa',
  'approvals.endedAt': 'Limeisha',
  'approvals.approve': 'Idhinisha',
  'approvals.approved': 'Limeidhinishwa na kutekelezwa',
  'approvals.reject': 'Kataa',
  'approvals.reject.title': 'Kataa ombi hili',
  'approvals.rejected': 'Ombi limekataliwa',
  'approvals.withdraw': 'Ondoa ombi',
  'approvals.withdrawn': 'Ombi limeondolewa',
  'approvals.own': 'Umetuma ombi hili. Mtumiaji mwingine anapaswa kuliidhinisha.',
  'approvals.changed': 'Yaliyobadilika tangu ombi',
  'approvals.changed.hint':
    'Haliwezi kuidhinishwa tena, na litaisha ndani ya dakika moja. Tuma ombi jipya ikiwa bado linahitajika.',
  'approvals.change': '{fact}: {before} → {now}',
  'approvals.effect.reverse_payment':
    'Malipo yanabatilishwa. Ikiwa yana akaunti, salio la ziada linapunguzwa kwanza, na kinachobaki kinadaiwa tena.',
  'approvals.effect.correct_payment':
    'Malipo yanabatilishwa, na malipo ya kiasi hiki yanaandikwa mahali pake, yenye tarehe, njia na kumbukumbu ile ile.',
  'approvals.effect.unassign_payment':
    'Malipo yanatoka kwenye akaunti na kurudi kwenye malipo yasiyolinganishwa.',
  'approvals.effect.refund_credit':
    'Salio la ziada la akaunti linapungua. Mteja amelipwa au atalipwa pesa hizo.',
  'approvals.effect.transfer_credit': 'Salio la ziada linaenda kwa akaunti nyingine, kama malipo.',
  'approvals.effect.write_off_account': 'Deni linakuwa hasara, na akaunti inafungwa.',
  'approvals.effect.cancel_account':
    'Mauzo yanatenguliwa: deni halidaiwi tena, na yote yaliyolipwa yanakuwa salio la ziada.',
  'approvals.effect.change_plan': 'Awamu au bei ya akaunti inabadilika kuanzia leo.',
  'approvals.effect.start_bulk_deferral':
    'Awamu za akaunti hizi zote zinadaiwa baadaye. Akaunti zinazobadilika kabla ya hapo zinaachwa.',
  'approvals.effect.undo_bulk_deferral':
    'Akaunti zinarudi kwenye awamu za awali, isipokuwa ambazo mpango wake umebadilishwa baadaye.',
  ...approvalActions,
  ...approvalStatuses,
  ...planChangeRequests,
  'approvalFact.paymentStatus': 'Hali ya malipo',
  'approvalFact.paymentAccountId': 'Akaunti ya malipo',
  'approvalFact.reconciliationId': 'Usuluhishi wa malipo',
  'approvalFact.accountStatus': 'Hali ya akaunti',
  'approvalFact.toAccountStatus': 'Hali ya akaunti nyingine',
  'approvalFact.balance': 'Deni lililobaki',
  'approvalFact.credit': 'Salio la ziada',
  'approvalFact.planVersion': 'Idadi ya mabadiliko ya mpango',
  'approvalFact.paid': 'Kilicholipwa',
};
