<?php echo "news of today";
