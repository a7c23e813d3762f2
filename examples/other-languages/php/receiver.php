<?php

/** Receives the webhooks: LOYALTY_SIGNING_SECRET=… php -S 127.0.0.1:3000 receiver.php */

declare(strict_types=1);

// #region receiver
require __DIR__ . '/loyalty_webhook.php';

// Two during a rotation, separated by a comma.
$secrets = explode(',', getenv('LOYALTY_SIGNING_SECRET') ?: '');
$header = $_SERVER['HTTP_SERVICE_SIGNATURE'] ?? null;
// The bytes: not parsed, not decoded. At most 1 MiB.
$body = file_get_contents('php://input', length: 1024 * 1024 + 1);
if (strlen($body) > 1024 * 1024) {
    http_response_code(413);
    exit;
}
try {
    $event = verify($body, $header, $secrets);
    store($event);
    http_response_code(204);
} catch (Rejected $rejected) {
    error_log("rejected a webhook: {$rejected->getMessage()}");
    http_response_code(401);
}

function store(array $event): void
{
    // Insert $event['id'] into a table with a unique key,
    // and ignore a duplicate.
    error_log("{$event['type']} {$event['id']}");
}
// #endregion
