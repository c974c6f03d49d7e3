-- A user can stop a bulk deferral. The accounts that it has not deferred by then are skipped with this problem.
alter type bulk_deferral_problem add value 'stopped' after 'failed';
