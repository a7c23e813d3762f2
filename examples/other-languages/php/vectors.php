<?php

/** Prints the verdict and the reason for each signature vector: php vectors.php signatures.json */

declare(strict_types=1);

require __DIR__ . '/loyalty_webhook.php';

$document = json_decode(file_get_contents($argv[1]), true, flags: JSON_THROW_ON_ERROR);
if ($document['version'] !== 1) {
    exit("This program reads version 1 of the vectors.\n");
}
foreach ($document['vectors'] as $vector) {
    try {
        verify(
            base64_decode($vector['body']),
            implode(', ', $vector['header']), // as HTTP joins several lines of a header
            array_map('base64_decode', $vector['secrets']),
            $vector['nowSeconds'],
            $vector['toleranceSeconds'],
        );
        echo "valid\t-\t{$vector['name']}\n";
    } catch (Rejected $rejected) {
        echo "invalid\t{$rejected->getMessage()}\t{$vector['name']}\n";
    }
}
